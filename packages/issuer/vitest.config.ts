import { keepFilesInMemory } from '../../vitest.package.ts'

keepFilesInMemory()

export { default } from '../../vitest.package.ts'

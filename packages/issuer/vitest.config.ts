export { default } from '../../vitest.package.ts'

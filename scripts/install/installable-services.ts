/** A separately deployed program of this repository. */
type InstallableService = {
  readonly name: string
  readonly packageName: string
  /** From the root of the installed folder. */
  readonly main: string
}

/** The services, the sign-in beside care, and the stand-ins for their networks. */
export const installableServices: readonly InstallableService[] = [
  { name: 'access', packageName: '@tallystick/access', main: 'services/access/src/main.ts' },
  { name: 'care', packageName: '@tallystick/care', main: 'services/care/src/main.ts' },
  { name: 'grading', packageName: '@tallystick/grading', main: 'services/grading/src/main.ts' },
  {
    name: 'facilitator',
    packageName: '@tallystick/facilitator',
    main: 'packages/facilitator/src/main.ts',
  },
  { name: 'issuer', packageName: '@tallystick/issuer', main: 'packages/issuer/src/main.ts' },
  { name: 'devnet', packageName: '@tallystick/devnet', main: 'packages/devnet/src/main.ts' },
]

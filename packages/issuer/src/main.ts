#!/usr/bin/env node
/** The authorization server's process; with a verb, its command. */
import { runService, withCauses } from '@tallystick/service-kit'
import { processTerminal } from '@tallystick/service-kit/command'
import { GrantStoreUnavailable } from './adapters/grant-database.ts'
import { PrivateFileUnusable } from './adapters/private-file.ts'
import { issuerConfigSchema } from './config.ts'
import { runAdmin } from './run-admin.ts'
import { createIssuer } from './service.ts'

if (process.argv.length > 2) process.exitCode = await runAdmin(processTerminal(process))
else
  await runService({
    name: 'issuer',
    schema: issuerConfigSchema,
    environment: process.env,
    create: createIssuer,
    startRefusal: (error) =>
      error instanceof PrivateFileUnusable || error instanceof GrantStoreUnavailable
        ? withCauses(`Nobody can sign in: ${error.message}`, error)
        : undefined,
  })

// The access service as an operator runs it, in its own measured process. First argument: its environment as JSON.
import { accessConfigSchema, createAccessService } from '@tallystick/access'
import { measureProcess, requireConfig, startListening, systemClock } from '@tallystick/service-kit'
import { answerProbe } from './answer-probe.ts'

const config = requireConfig(accessConfigSchema, JSON.parse(process.argv[2] ?? ''))
const service = await createAccessService({ config, clock: systemClock })
measureProcess(service.registry)
answerProbe(await startListening(service))

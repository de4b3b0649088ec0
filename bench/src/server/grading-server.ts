// The grading service as an operator runs it, in its own measured process. First argument: its environment as JSON.
import { createGradingService, gradingConfigSchema } from '@tallystick/grading'
import { measureProcess, requireConfig, startListening, systemClock } from '@tallystick/service-kit'
import { answerProbe } from './answer-probe.ts'

const config = requireConfig(gradingConfigSchema, JSON.parse(process.argv[2] ?? ''))
const service = await createGradingService({ config, clock: systemClock })
measureProcess(service.registry)
answerProbe(await startListening(service))

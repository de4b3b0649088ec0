// The grading service as an operator runs it, in its own measured process. First argument: its environment as JSON.
import { createGradingService, gradingConfigSchema } from '@tallystick/grading'
import { listeningUrl, readConfig, systemClock } from '@tallystick/service-kit'
import { answerProbe } from './answer-probe.ts'

const reading = readConfig(gradingConfigSchema, JSON.parse(process.argv[2] ?? ''))
if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.problems))
const service = await createGradingService({ config: reading.config, clock: systemClock })
service.start()
await service.app.listen({ host: '127.0.0.1', port: 0 })
answerProbe({
  url: listeningUrl(service.app),
  async stop() {
    await service.stopping?.()
    await service.app.close()
    await service.close()
  },
})

// A visitor who asks for /verify again and again, in a process of his own. First argument: the service's URL.
import { drain } from '../raw-load.ts'
import { answerProbe } from './answer-probe.ts'

const [, , url = ''] = process.argv
const leaving = new AbortController()
const visiting = (async () => {
  while (!leaving.signal.aborted) await drain(`${url}/verify`)
})()
answerProbe({
  url,
  async stop() {
    leaving.abort()
    await visiting
  },
})

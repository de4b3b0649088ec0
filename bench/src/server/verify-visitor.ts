// A visitor who asks for /verify again and again, in a process of his own. First argument: the service's URL.
import { openDrain } from '../raw-load.ts'
import { answerProbe } from './answer-probe.ts'

const [, , url = ''] = process.argv
const drain = await openDrain(url)
const leaving = new AbortController()
const visiting = (async () => {
  while (!leaving.signal.aborted) await drain.get('/verify')
})()
answerProbe({
  url,
  async stop() {
    leaving.abort()
    await visiting
    drain.close()
  },
})

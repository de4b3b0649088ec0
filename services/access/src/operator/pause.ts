import type { OperatorVerb } from './operator-verb.ts'
import { openContract, receiptLine } from './owner-contract.ts'

const PAUSE_GAS = 100_000n

type PauseWords = Pick<OperatorVerb, 'name' | 'summary'> & {
  readonly isPaused: boolean
  readonly said: string
}

function pauseVerb({ name, summary, isPaused, said }: PauseWords): OperatorVerb {
  return {
    name,
    usage: '',
    summary,
    options: {},
    wordsMax: 0,
    needs: ['OWNER_KEY', 'ACCESS_CONTRACT'],
    async run(call) {
      const contract = await openContract(call.config, 'OWNER_KEY')
      const receipt = await contract.write({
        functionName: 'pauseSales',
        args: [isPaused],
        gas: PAUSE_GAS,
      })
      call.print(said)
      call.print(receiptLine(receipt))
    },
  }
}

/** Stops new sales; open windows renew and refunds are paid as before. */
export const pause = pauseVerb({
  name: 'pause',
  summary: 'stop new sales; open windows go on renewing',
  isPaused: true,
  said: 'Sales are paused. Open windows go on renewing, and settled payments are still opened.',
})

/** Takes sales up again. */
export const resume = pauseVerb({
  name: 'resume',
  summary: 'take sales up again',
  isPaused: false,
  said: 'Sales are open.',
})

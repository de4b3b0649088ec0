import { BadUsage } from '@tallystick/service-kit/command'
import { listPayments } from './list-payments.ts'
import { openPayment } from './open-payment.ts'
import type { OperatorVerb } from './operator-verb.ts'
import { refundPayment } from './refund-payment.ts'

/** Lists payTo's credits, opens one, or pays one back. */
export const payments: OperatorVerb = {
  name: 'payments',
  usage: '[list [--days N]|open ID|refund ID [--although-pending]]',
  summary: 'what payTo was paid: opened, pending, refused or refunded; settle one',
  options: { days: 'text', 'although-pending': 'flag' },
  wordsMax: 2,
  needs: (words) =>
    words[0] === 'open' || words[0] === 'refund'
      ? ['ACCESS_CONTRACT', 'PAY_TO', 'PAY_TO_KEY']
      : ['ACCESS_CONTRACT', 'PAY_TO'],
  async run(call) {
    const [action = 'list'] = call.words
    if (action === 'list') return await listPayments(call)
    if (action === 'open') return await openPayment(call)
    if (action === 'refund') return await refundPayment(call)
    throw new BadUsage('Say what to do: nothing more, `open ID` or `refund ID`.')
  },
}

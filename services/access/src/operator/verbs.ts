import type { CommandVerb } from '@tallystick/service-kit/command'
import { deploy } from './deploy.ts'
import { fund } from './fund.ts'
import { operatorVerb } from './operator-verb.ts'
import { pause, resume } from './pause.ts'
import { payments } from './payments.ts'
import { reap } from './reap.ts'
import { recorders } from './recorders.ts'
import { setOffer } from './set-offer.ts'
import { status } from './status.ts'
import { withdraw } from './withdraw.ts'

/** Every verb of `access-operator`, in the order in which a seller meets them. */
export const verbs: readonly CommandVerb[] = [
  deploy,
  status,
  fund,
  withdraw,
  setOffer,
  pause,
  resume,
  recorders,
  reap,
  payments,
].map(operatorVerb)

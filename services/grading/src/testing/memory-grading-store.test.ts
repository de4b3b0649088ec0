import { describeGradingStore } from '../domain/grading-store.contract.ts'
import { createMemoryGradingStore } from './memory-grading-store.ts'

describeGradingStore('memory', () => createMemoryGradingStore())

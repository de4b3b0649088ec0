import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { isSqliteError } from './sqlite-error.ts'

/** What SQLite throws, as the port's one error; anything else as it is. */
function asUnavailable(error: unknown): unknown {
  return isSqliteError(error)
    ? new RecordStoreUnavailable(`the store cannot be used: ${error.message}`, { cause: error })
    : error
}

/** What `open` returns; its failures are the port's. */
export function guardedOpening<Opened>(open: () => Opened): Opened {
  try {
    return open()
  } catch (error) {
    throw asUnavailable(error)
  }
}

/** The same function, whose failures are the port's. */
export function guarded<Values extends readonly unknown[], Result>(
  run: (...values: Values) => Promise<Result>,
): (...values: Values) => Promise<Result> {
  return async (...values) => {
    try {
      return await run(...values)
    } catch (error) {
      throw asUnavailable(error)
    }
  }
}

/** The same for what yields. */
export function guardedStream<Query, Item>(
  run: (query: Query) => AsyncIterable<Item>,
): (query: Query) => AsyncGenerator<Item> {
  return async function* stream(query) {
    try {
      yield* run(query)
    } catch (error) {
      throw asUnavailable(error)
    }
  }
}

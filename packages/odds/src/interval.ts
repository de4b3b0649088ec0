/** Standard deviations of a normal distribution that hold 95 %. */
export const DEVIATIONS_95 = 1.959963984540054

/** A two-sided interval around an estimate. */
export type Interval = { readonly low: number; readonly high: number }

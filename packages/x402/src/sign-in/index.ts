export { answerSignIn, SIGN_IN_AGE_MS_MAX, signInChallenge } from './sign-in-challenge.ts'
export { judgeSignIn, type SignInRefusal, type SignInVerdict } from './sign-in-proof.ts'

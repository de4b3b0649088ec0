/** `/interaction/…`: a sign-in, from a program's request to its answer. A cookie ties each step to the browser. */
import { narrowScopes } from '@tallystick/jwt-lite'
import { type ServiceApp, sendError } from '@tallystick/service-kit'
import { PAGE_TYPES } from '@tallystick/service-kit/pages'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Interaction, InteractionResults, Provider } from 'oidc-provider'
import { z } from 'zod'
import { UpstreamRefused, type UpstreamSignIn } from '../adapters/upstream-sign-in.ts'
import type { UsersFile } from '../adapters/users-file.ts'
import { type Account, type Accounts, findBegunBy } from '../domain/account.ts'
import type { SignInLimits } from '../domain/sign-in-limits.ts'
import { SESSION_OVER, SIGN_IN_SCOPES } from '../provider.ts'
import {
  type AskingProgram,
  consentPage,
  signInPage,
  signInPolicy,
  stoppedPage,
} from './sign-in-pages.ts'

/** How a sign-in ended, for metrics. */
type SignInOutcome = 'signed-in' | 'wrong' | 'too-often' | 'busy' | 'upstream-refused'

type InteractionDeps = {
  /** As it is now. */
  readonly provider: () => Provider
  readonly accounts: Accounts
  readonly users: UsersFile | undefined
  readonly upstream: UpstreamSignIn | undefined
  readonly limits: SignInLimits
  /** Whose failures count together; undefined where proxies hide it. */
  readonly countedNetwork: (request: FastifyRequest) => string | undefined
  readonly baseUrl: string
  readonly observe: (outcome: SignInOutcome) => void
}

/** Why the password is asked: the person in front is another one. */
const NOT_THIS_PERSON = 'not_this_person'

const EXPIRED =
  'It took too long, or it began in another browser. Go back to the program that sent you here and start again.'
const WRONG = 'Name or password is wrong.'
const BUSY = 'Many people are signing in. Wait a few seconds and try again.'
const TOO_OFTEN = 'There were too many attempts. Wait a quarter of an hour and try again.'

const uidParams = z.object({ uid: z.string().regex(/^[\w-]{8,64}$/) })
const loginForm = z.object({ name: z.string().max(128), password: z.string().max(1_024) })
const choiceForm = z.object({ choice: z.enum(['allow', 'deny', 'other', 'sign-out']) })
const SCHEMA = { schema: { hide: true, params: uidParams }, config: { hasSecretPath: true } }

type Step = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly interaction: Interaction
}

const sendPage = ({ reply, interaction }: Pick<Step, 'reply'> & Partial<Step>, page: string) =>
  reply
    .headers({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': signInPolicy(textOrEmpty(interaction?.params['redirect_uri'])),
    })
    .type(PAGE_TYPES.html)
    .send(page)

const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The requested scopes that its person gets or lacks. */
function describeShare(interaction: Interaction, grantable: readonly string[]) {
  const missing = (interaction.prompt.details['missingResourceScopes'] ?? {}) as Readonly<
    Record<string, readonly string[]>
  >
  const resources = Object.entries(missing).map(([resource, requested]) => ({
    resource,
    granted: requested.filter((scope) => narrowScopes(grantable, [scope]).length > 0),
    refused: requested.filter((scope) => narrowScopes(grantable, [scope]).length === 0),
  }))
  return {
    resources,
    scopes: resources.flatMap(({ granted }) => narrowScopes(grantable, granted)),
    refused: resources.flatMap(({ refused }) => refused),
  }
}

const parseForm = (
  _request: unknown,
  body: string | Buffer,
  done: (error: null, form: object) => void,
): void => done(null, Object.fromEntries(new URLSearchParams(String(body))))

/** The steps that all routes share. */
class SignIns {
  readonly #deps: InteractionDeps

  constructor(deps: InteractionDeps) {
    this.#deps = deps
  }

  /** The step of the browser's own sign-in; undefined if it has none, after sending a page that says so. */
  async step(request: FastifyRequest, reply: FastifyReply): Promise<Step | undefined> {
    const { uid } = uidParams.parse(request.params)
    try {
      const interaction = await this.#deps.provider().interactionDetails(request.raw, reply.raw)
      if (interaction.uid === uid) return { request, reply, interaction }
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'SessionNotFound') throw error
    }
    void sendPage({ reply: reply.code(400) }, stoppedPage(EXPIRED))
    return undefined
  }

  /** The step that a form on this server's own pages submits. */
  async formStep(request: FastifyRequest, reply: FastifyReply): Promise<Step | undefined> {
    const { origin } = request.headers
    // Browsers name a form's origin, null on a page without a referrer. Forms on others' pages come without the cookie.
    if (origin === undefined || origin === this.#deps.baseUrl || origin === 'null')
      return this.step(request, reply)
    void sendError(reply, { status: 403, error: 'forbidden' })
    return undefined
  }

  async finish({ request, reply }: Step, result: InteractionResults): Promise<FastifyReply> {
    const to = await this.#deps.provider().interactionResult(request.raw, reply.raw, result)
    return reply.header('cache-control', 'no-store').redirect(to, 303)
  }

  /** Signs a person in, in this browser. */
  async finishLogin(at: Step, { id, credentials }: Account): Promise<FastifyReply> {
    // The library would show a page of its own to a second person.
    if (at.interaction.session?.accountId !== id) await this.endSession(at)
    return this.finish(at, { login: { accountId: id, acr: credentials } })
  }

  /** Forgets who signed in in this browser; the step goes on without. */
  async endSession({ interaction }: Step): Promise<void> {
    const { uid } = interaction.session ?? {}
    if (uid === undefined) return
    const session = await this.#deps.provider().Session.findByUid(uid)
    await session?.destroy()
    delete interaction.session
    await interaction.persist()
  }

  /** Asks who is there. */
  async askAgain(at: Step): Promise<FastifyReply> {
    const { interaction } = at
    interaction.prompt = { name: 'login', reasons: [NOT_THIS_PERSON], details: {} }
    await interaction.persist()
    return at.reply.redirect(`/interaction/${interaction.uid}`, 303)
  }

  async showSignIn(at: Step, problem?: string): Promise<FastifyReply> {
    const { users, upstream } = this.#deps
    const program = await this.findProgram(at.interaction)
    const { uid } = at.interaction
    const hasPasswords = users !== undefined
    return sendPage(
      at,
      signInPage({ uid, program, hasPasswords, upstream: upstream?.name, problem }),
    )
  }

  async findProgram({ params }: Interaction): Promise<AskingProgram> {
    const id = textOrEmpty(params['client_id'])
    const client = await this.#deps.provider().Client.find(id)
    const redirect = URL.parse(textOrEmpty(params['redirect_uri']))
    return {
      name: client?.clientName ?? id,
      origin: id.startsWith('https://') ? new URL(id).host : 'the program itself',
      returnsTo: redirect?.host || (redirect?.protocol ?? ''),
    }
  }
}

export function addInteractionRoutes(app: ServiceApp, deps: InteractionDeps): void {
  const { accounts, upstream } = deps
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, parseForm)
  const signIns = new SignIns(deps)
  app.get('/interaction/:uid', SCHEMA, async (request, reply) => {
    const at = await signIns.step(request, reply)
    if (at === undefined) return reply
    const { interaction } = at
    if (interaction.prompt.name === 'login') return signIns.showSignIn(at)
    const account = await findBegunBy(accounts, interaction.session ?? {})
    if (account === undefined) return signIns.finish(at, { error: 'access_denied' })
    const { scopes, refused } = describeShare(interaction, account.scopes)
    const program = await signIns.findProgram(interaction)
    const { uid } = interaction
    return sendPage(at, consentPage({ uid, program, label: account.label, scopes, refused }))
  })
  addLoginRoute(app, signIns, deps)
  addConsentRoute(app, signIns, deps)
  if (upstream !== undefined) addUpstreamRoutes(app, signIns, { ...deps, upstream })
}

function addLoginRoute(app: ServiceApp, signIns: SignIns, deps: InteractionDeps): void {
  const { users, limits, countedNetwork, observe } = deps
  app.post('/interaction/:uid/login', SCHEMA, async (request, reply) => {
    const at = await signIns.formStep(request, reply)
    if (at === undefined) return reply
    const form = loginForm.safeParse(request.body)
    if (users === undefined || !form.success || at.interaction.prompt.name !== 'login')
      return signIns.showSignIn({ ...at, reply: reply.code(400) }, WRONG)
    const { name, password } = form.data
    const attempt = { name, network: countedNetwork(request) }
    const refuse = (outcome: SignInOutcome, code: number, words: string) => {
      observe(outcome)
      return signIns.showSignIn({ ...at, reply: reply.code(code) }, words)
    }
    if (!limits.allows(attempt)) return refuse('too-often', 429, TOO_OFTEN)
    // Counted before the check: a hundred at once are a hundred.
    limits.failed(attempt)
    const account = await users.signIn(name, password)
    if (account === undefined) return refuse('wrong', 401, WRONG)
    limits.forgive(attempt)
    if (account === 'busy') return refuse('busy', 503, BUSY)
    observe('signed-in')
    return signIns.finishLogin(at, account)
  })
}

const isOwn = (scope: string): boolean => SIGN_IN_SCOPES.includes(scope)

const denied = (why: string): InteractionResults => ({
  error: 'access_denied',
  error_description: why,
})

function addConsentRoute(app: ServiceApp, signIns: SignIns, deps: InteractionDeps): void {
  const { provider, accounts } = deps
  app.post('/interaction/:uid/consent', SCHEMA, async (request, reply) => {
    const at = await signIns.formStep(request, reply)
    if (at === undefined) return reply
    const { interaction } = at
    const form = choiceForm.safeParse(request.body)
    const choice = form.data?.choice ?? 'deny'
    if (choice === 'other' || choice === 'sign-out') await signIns.endSession(at)
    if (choice === 'other') return signIns.askAgain(at)
    const account = await findBegunBy(accounts, interaction.session ?? {})
    const isAsked = interaction.prompt.name === 'consent'
    if (choice !== 'allow' || account === undefined || !isAsked)
      return signIns.finish(at, denied('the person said no'))
    const { resources, scopes, refused } = describeShare(interaction, account.scopes)
    if (scopes.length === 0 && refused.length > 0)
      return signIns.finish(at, denied('the person has none of these rights'))
    const clientId = textOrEmpty(interaction.params['client_id'])
    const { Grant } = provider()
    const grant = new Grant({ accountId: account.id, clientId })
    const requested = (interaction.prompt.details['missingOIDCScope'] ?? []) as readonly string[]
    grant.addOIDCScope(requested.filter(isOwn).join(' '))
    // A resource's scopes are granted for it alone, below.
    grant.rejectOIDCScope(requested.filter((scope) => !isOwn(scope)).join(' '))
    for (const { resource, granted, refused: missing } of resources) {
      grant.addResourceScope(resource, granted.join(' '))
      if (missing.length > 0) grant.rejectResourceScope(resource, missing.join(' '))
    }
    return signIns.finish(at, { consent: { grantId: await grant.save() } })
  })
}

const AGAIN: ReadonlySet<string> = new Set([NOT_THIS_PERSON, SESSION_OVER])
const AWAY = 'The other sign-in cannot be used at the moment. Try again.'

const readAnswer = ({ url }: FastifyRequest): URLSearchParams =>
  new URLSearchParams(url.split('?')[1] ?? '')

/** The way to the operator's own provider and back. */
function addUpstreamRoutes(
  app: ServiceApp,
  signIns: SignIns,
  { upstream, observe }: InteractionDeps & { readonly upstream: UpstreamSignIn },
): void {
  const refuse = (at: Step, error: unknown) => {
    if (!(error instanceof UpstreamRefused)) throw error
    at.request.log.warn({ err: error }, 'upstream sign-in refused')
    observe('upstream-refused')
    return signIns.showSignIn({ ...at, reply: at.reply.code(502) }, AWAY)
  }
  app.get('/interaction/:uid/upstream/begin', SCHEMA, async (request, reply) => {
    const at = await signIns.step(request, reply)
    if (at === undefined) return reply
    try {
      const { uid, prompt } = at.interaction
      // That provider, too, may know this browser as somebody else.
      const isAgain = prompt.reasons.some((reason) => AGAIN.has(reason))
      return reply.redirect(await upstream.begin(uid, isAgain ? 'login' : undefined), 303)
    } catch (error) {
      return refuse(at, error)
    }
  })
  // The provider returns here; the cookie goes to the sign-in's own address.
  const hidden = { schema: { hide: true }, config: { hasSecretPath: true } }
  app.get('/upstream/callback', hidden, async (request, reply) => {
    const answer = readAnswer(request)
    const uid = upstream.readUid(answer.get('state'))
    return uid === undefined
      ? sendPage({ reply: reply.code(400) }, stoppedPage(EXPIRED))
      : reply.redirect(`/interaction/${uid}/upstream?${answer.toString()}`, 303)
  })
  app.get('/interaction/:uid/upstream', SCHEMA, async (request, reply) => {
    const at = await signIns.step(request, reply)
    if (at === undefined) return reply
    try {
      const account = await upstream.finish(at.interaction.uid, readAnswer(request))
      observe('signed-in')
      return await signIns.finishLogin(at, account)
    } catch (error) {
      return refuse(at, error)
    }
  })
}

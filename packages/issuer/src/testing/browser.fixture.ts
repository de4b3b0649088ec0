// As much of a browser as a sign-in needs: cookies by origin and path, redirects followed by hand, forms posted.

type Cookie = { readonly value: string; readonly path: string }

type Answer = {
  readonly url: string
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/** Cookies by origin and path. */
class CookieJar {
  readonly #cookies = new Map<string, Cookie>()

  keep(origin: string, header: string): void {
    const [pair = '', ...rest] = header.split('; ')
    const at = pair.indexOf('=')
    const path = rest.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/'
    const value = pair.slice(at + 1)
    const key = `${origin} ${path} ${pair.slice(0, at)}`
    const isGone =
      value === '' || rest.some((attribute) => /^expires=thu, 01 jan 1970/i.test(attribute))
    if (isGone) this.#cookies.delete(key)
    else this.#cookies.set(key, { value, path })
  }

  headerFor({ origin, pathname }: URL): string {
    return [...this.#cookies]
      .filter(([key, { path }]) => key.startsWith(`${origin} `) && pathname.startsWith(path))
      .map(([key, { value }]) => `${key.split(' ')[2]}=${value}`)
      .join('; ')
  }
}

/** With origins that are served elsewhere, as behind a proxy. */
export function openBrowser(servedAt: Readonly<Record<string, string>> = {}) {
  const cookies = new CookieJar()
  const once = async (url: string, form?: Readonly<Record<string, string>>): Promise<Response> => {
    const { origin } = new URL(url)
    const at = url.replace(origin, servedAt[origin] ?? origin)
    const answer = await fetch(at, {
      redirect: 'manual',
      headers: {
        cookie: cookies.headerFor(new URL(url)),
        ...(form === undefined ? {} : { origin }),
      },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const header of answer.headers.getSetCookie()) cookies.keep(origin, header)
    return answer
  }
  /** Follows redirects from there to a page or an address under `until`. */
  const go = async (
    url: string,
    options: { readonly form?: Readonly<Record<string, string>>; readonly until: string },
  ): Promise<Answer> => {
    let at = url
    let { form } = options
    for (let hops = 0; hops < 20; hops += 1) {
      const answer = await once(at, form)
      const to = answer.headers.get('location')
      if (to === null)
        return {
          url: at,
          status: answer.status,
          text: await answer.text(),
          headers: answer.headers,
        }
      at = new URL(to, at).href
      form = undefined
      if (at.startsWith(options.until))
        return { url: at, status: answer.status, text: '', headers: answer.headers }
    }
    throw new Error('a browser gives up here')
  }
  return {
    go,
    /** Signs in and allows, from an authorization URL to the program's redirect URI. */
    async allow(
      url: string,
      who: {
        readonly name: string
        readonly password: string
        readonly until: string
        readonly choice?: string
      },
    ): Promise<Answer> {
      const { name, password, until, choice = 'allow' } = who
      let page = await go(url, { until })
      if (page.text.includes('name="password"'))
        page = await go(`${page.url}/login`, { form: { name, password }, until })
      if (page.text.includes('name="choice"'))
        page = await go(`${page.url}/consent`, { form: { choice }, until })
      return page
    },
  }
}

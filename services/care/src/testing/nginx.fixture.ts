// A real nginx in front of services on this machine.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tallystick/service-kit'

const NGINX = '/usr/sbin/nginx'

/** Why tests behind nginx cannot run here, in parentheses; undefined if they can. */
export const nginxMissing = existsSync(NGINX) ? undefined : '(no /usr/sbin/nginx)'

/** Those of docs/how-to/run-a-clinic.md and no others. */
const CLINIC_SETTINGS = `
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_buffering off;
      proxy_read_timeout 60s;
      client_max_body_size 300k;`

const writeServer = (options: { port: number; servicePort: number; settings: string }): string => `
  server {
    listen 127.0.0.1:${options.port};
    location / {
      proxy_pass http://127.0.0.1:${options.servicePort};${options.settings}
    }
  }`

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  return isOpen
}

/** Starts it with a port of its own for each service's port, by default as in front of care. */
export async function startNginx(servicePorts: readonly number[], settings = CLINIC_SETTINGS) {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-nginx-'))
  const ports = await Promise.all(servicePorts.map(freePort))
  const servers = servicePorts.map((servicePort, at) =>
    writeServer({ port: ports[at] ?? 0, servicePort, settings }),
  )
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path ${folder}/${kind};`,
  )
  const lines = ['events {}', 'http {', '  access_log off;', ...temporary, ...servers, '}']
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, lines.join('\n'))
  const main = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;`
  const child = spawn(NGINX, ['-p', folder, '-c', config, '-g', main], { stdio: 'ignore' })
  const ended = once(child, 'close')
  while (!(await answers(ports[0] ?? 0))) {
    if (child.exitCode !== null) throw new Error('nginx ended')
    await new Promise<void>((resolve) => void setImmediate(resolve))
  }
  return {
    ports,
    async close(): Promise<void> {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

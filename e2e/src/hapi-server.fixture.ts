// HAPI FHIR's JPA server as it is published, with its own settings for an H2 database in memory: whoever has its jars in one
// folder (hapi-fhir-jpaserver-test-utilities, mockito-core, and all that they need in the versions of hapi-fhir's own pom) names it
// in HAPI_FHIR_DIR, as for the validator. It needs Java 17.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { ended, readOutput } from './spawned-stack.ts'

const folder = process.env['HAPI_FHIR_DIR']

const holdsServer = (path: string): boolean =>
  existsSync(path) &&
  readdirSync(path).some((name) => /^hapi-fhir-jpaserver-test-utilities-.*\.jar$/.test(name))

/** Why its tests cannot run, undefined if they can. */
export const hapiServerMissing =
  folder === undefined
    ? 'HAPI_FHIR_DIR names no folder of HAPI FHIR’s jars'
    : holdsServer(folder)
      ? undefined
      : `HAPI_FHIR_DIR holds no hapi-fhir-jpaserver-test-utilities jar: ${folder}`

/** All of R4, under /fhir. */
const PROGRAM = `
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.jpa.provider.JpaSystemProvider;
import ca.uhn.fhir.jpa.test.config.TestR4Config;
import ca.uhn.fhir.rest.server.RestfulServer;
import ca.uhn.fhir.rest.server.provider.ResourceProviderFactory;
import java.net.InetSocketAddress;
import org.eclipse.jetty.ee10.servlet.*;
import org.eclipse.jetty.server.*;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

public class Hapi {
  public static void main(String[] words) throws Exception {
    var beans = new AnnotationConfigApplicationContext(TestR4Config.class);
    var rest = new RestfulServer(beans.getBean(FhirContext.class));
    rest.registerProviders(beans.getBean(ResourceProviderFactory.class).createProviders());
    rest.registerProvider(beans.getBean(JpaSystemProvider.class));
    var handler = new ServletContextHandler();
    handler.addServlet(new ServletHolder(rest), "/fhir/*");
    var server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(handler);
    server.start();
    System.out.println("listens on " + ((ServerConnector) server.getConnectors()[0]).getLocalPort() + ".");
  }
}
`

/** Starts it, empty. */
export async function startHapiServer() {
  const work = mkdtempSync(join(tmpdir(), 'tallystick-hapi-'))
  const program = join(work, 'Hapi.java')
  writeFileSync(program, PROGRAM)
  const words = [
    '-Xmx1g',
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-cp',
    join(folder ?? '', '*'),
    program,
  ]
  const child = spawn('java', words, { cwd: work, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = readOutput(child)
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended(child)
    rmSync(work, { recursive: true, force: true })
  }
  let port: string | undefined
  try {
    await eventually(() => {
      if (child.exitCode !== null) throw new Error('it ended')
      port = /listens on (\d+)\./.exec(output())?.[1]
      return port !== undefined
    })
  } catch (cause) {
    await stop()
    throw new Error(`HAPI FHIR did not come up:\n${output()}`, { cause })
  }
  return { baseUrl: `http://127.0.0.1:${port}/fhir`, output, stop }
}

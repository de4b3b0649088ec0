// HAPI FHIR's validator as it is published: whoever has its jars in one folder (hapi-fhir-validation with -structures-r4,
// -validation-resources-r4, -caching-caffeine and all that they need) names it in HAPI_FHIR_DIR. It needs Java 17.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const folder = process.env['HAPI_FHIR_DIR']

const holdsValidator = (path: string): boolean =>
  existsSync(path) &&
  readdirSync(path).some((name) => /^hapi-fhir-validation-\d.*\.jar$/.test(name))

/** Why its tests cannot run, undefined if they can. */
export const hapiMissing =
  folder === undefined
    ? 'HAPI_FHIR_DIR names no folder of HAPI FHIR’s jars'
    : holdsValidator(folder)
      ? undefined
      : `HAPI_FHIR_DIR holds no hapi-fhir-validation jar: ${folder}`

/** It knows what FHIR R4 itself defines, and asks no server. One line a bundle, then one for each error. */
const PROGRAM = `
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.DefaultProfileValidationSupport;
import ca.uhn.fhir.validation.ResultSeverityEnum;
import java.nio.file.*;
import org.hl7.fhir.common.hapi.validation.support.*;
import org.hl7.fhir.common.hapi.validation.validator.FhirInstanceValidator;

public class Judge {
  public static void main(String[] files) throws Exception {
    // Its server's jars, which may lie beside its own, log to standard output.
    var answers = System.out;
    System.setOut(System.err);
    var r4 = FhirContext.forR4();
    var support = new ValidationSupportChain(
      new DefaultProfileValidationSupport(r4),
      new InMemoryTerminologyServerValidationSupport(r4),
      new CommonCodeSystemsTerminologyService(r4));
    var validator = r4.newValidator().registerValidatorModule(new FhirInstanceValidator(support));
    for (var file : files) {
      var path = Path.of(file);
      answers.println("judged " + path.getFileName());
      for (var found : validator.validateWithResult(Files.readString(path)).getMessages())
        if (found.getSeverity().compareTo(ResultSeverityEnum.ERROR) >= 0)
          answers.println(path.getFileName() + " " + found.getLocationString() + " " + found.getMessage());
    }
  }
}
`

/** What it says of each bundle, by name: `judged NAME`, then its errors. */
export async function judgeByHapi(bundles: Readonly<Record<string, object>>): Promise<string[]> {
  const work = mkdtempSync(join(tmpdir(), 'care-hapi-'))
  try {
    const program = join(work, 'Judge.java')
    writeFileSync(program, PROGRAM)
    const files = Object.entries(bundles).map(([name, bundle]) => {
      const file = join(work, name)
      writeFileSync(file, JSON.stringify(bundle))
      return file
    })
    const words = ['-Xmx1g', '-cp', join(folder ?? '', '*'), program, ...files]
    const { stdout } = await promisify(execFile)('java', words)
    return stdout.trim().split('\n')
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

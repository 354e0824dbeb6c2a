/** A generator of API clients, with the commands that run in a folder with `openapi.json` and the files of `driver`. */
export interface Generator {
  name: string;
  version: string;
  /** The folder in `test/clients` with the program that makes the calls. */
  driver: string;
  /** Commands that succeed if a runtime is installed, and its name. */
  needs: readonly (readonly [check: string, runtime: string])[];
  /** Installs the generator from its lock file, unless it is a Python or Go program. */
  install?: string;
  /** The command that a seller runs. */
  command: string;
  /** Prepares the generated client and the driver to run. */
  build: readonly string[];
  run: string;
  /** Matches each warning in the output of `command`. */
  warning: RegExp;
  /** Part of the short form. */
  short?: boolean;
}

const OPENAPI_GENERATOR = '7.24.0';
const JAVA = ['command -v java', 'Java (Debian: default-jre-headless)'] as const;
const PYTHON = ['python3 -c "import ensurepip, venv"', 'Python with venv (Debian: python3-venv)'] as const;

/** What openapi-generator reports about every document with these features. The clients are complete. */
export const HARMLESS = [
  'OpenAPI 3.1 support is still in beta',
  'Failed to get the schema name: null', // additionalProperties: false
  'No application/json content media type found in response', // application/problem+json
  'Ignoring complex example on request body',
];

const openapiGenerator = (
  language: string,
  options = '',
): Pick<Generator, 'name' | 'version' | 'command' | 'warning'> => ({
  name: `openapi-generator: ${language}`,
  version: OPENAPI_GENERATOR,
  command: `openapi-generator-cli generate -g ${language}${options} -i openapi.json -o client`,
  warning: /^\[main\] (?:WARN|ERROR) .*$/gm,
});

export const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    version: '7.13.0',
    driver: 'typescript',
    needs: [],
    install: 'npm ci --silent --ignore-scripts',
    command: 'npx --no-install openapi-typescript openapi.json -o schema.d.ts',
    build: [
      'npx --no-install tsc --noEmit --checkJs --strict --exactOptionalPropertyTypes --module nodenext driver.mjs',
    ],
    run: 'node driver.mjs',
    warning: /^(?!npm warn ).*(?:⚠|warn).*$/gim,
  },
  {
    name: 'openapi-python-client',
    version: '0.29.1',
    driver: 'python-client',
    needs: [PYTHON],
    command: 'openapi-python-client generate --path openapi.json --output-path client --meta none',
    build: [],
    run: 'python driver.py',
    warning: /^(?:WARNING|ERROR|Unable to|Cannot|Failed).*$/gm,
  },
  {
    name: 'oapi-codegen (Go)',
    version: '2.8.2',
    driver: 'go',
    needs: [['command -v go', 'Go (https://go.dev/dl)']],
    command:
      'go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 ' +
      '-generate types,client,skip-prune -package orders -o orders/orders.go openapi.json',
    build: ['go mod init shop', 'go get github.com/oapi-codegen/runtime@v1.8.0', 'go vet ./...'],
    run: 'go run .',
    warning: /^(?!go: ).*(?:warn|error).*$/gim,
    short: true,
  },
  {
    ...openapiGenerator('php'),
    driver: 'php',
    needs: [
      JAVA,
      ['php -r "exit(extension_loaded(\'mbstring\') ? 0 : 1);"', 'PHP with mbstring (Debian: php-cli php-mbstring)'],
      ['test -e /usr/share/php/GuzzleHttp/autoload.php', 'Guzzle (Debian: php-guzzlehttp-guzzle)'],
    ],
    build: [],
    run: 'php driver.php',
  },
  {
    ...openapiGenerator('python'),
    driver: 'python',
    needs: [JAVA, PYTHON],
    build: [],
    run: 'PYTHONPATH=client python driver.py',
    short: true,
  },
  {
    ...openapiGenerator('java', ' --library native'),
    driver: 'java',
    needs: [
      PYTHON,
      ['command -v javac', 'a JDK (Debian: default-jdk-headless)'],
      ['command -v mvn', 'Maven (Debian: maven)'],
    ],
    build: [
      'cp Driver.java client/src/main/java/',
      'mvn -q -B -f client/pom.xml compile dependency:copy-dependencies -DincludeScope=runtime',
    ],
    run: "java -cp 'client/target/classes:client/target/dependency/*' Driver",
  },
];

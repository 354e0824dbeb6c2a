// Packs the client that shops install, without the server, into a tarball in the current folder.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { format } from 'prettier';
import ts from 'typescript';

const root = path.dirname(import.meta.dirname);
const inRoot = (file) => path.join(root, file);
const { name, version, license, engines } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));
const manifest = {
  ...{ name, version, license, engines },
  description: 'The client of the order service',
  type: 'commonjs',
  sideEffects: false,
  // The folder has the name of the export, so that `moduleResolution: node10`, which ignores `exports`, finds the
  // types.
  bin: { 'order-service': 'client/bin.js' },
  exports: { './client': { types: './client/index.d.ts', default: './client/index.js' } },
};

/** Compiles the client and all that it imports. Returns the text of each file by its path below `src`. */
async function compile() {
  const { options } = ts.getParsedCommandLineOfConfigFile(inRoot('tsconfig.json'), undefined, ts.sys);
  Object.assign(options, {
    rootDir: inRoot('src'),
    outDir: '/',
    types: ['node'],
    noEmit: false,
    declaration: true,
    incremental: false,
  });
  const program = ts.createProgram([inRoot('src/client/index.ts'), inRoot('src/client/bin.ts')], {
    ...options,
    tsBuildInfoFile: undefined,
  });
  const files = new Map();
  const { diagnostics } = program.emit(undefined, (file, text) => files.set(file.slice(1), text));
  const errors = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (errors.length > 0) throw new Error(ts.formatDiagnostics(errors, ts.createCompilerHost({})));
  const types = writtenOut(program, inRoot('src/client/contract-types.ts'));
  files.set('client/contract-types.d.ts', await format(types, { parser: 'typescript', printWidth: 120 }));
  return files;
}

/** Returns the declarations of a file of types, with each type in full instead of by name. */
function writtenOut(program, file) {
  const checker = program.getTypeChecker();
  const { NoTruncation, InTypeAlias } = ts.TypeFormatFlags;
  const declare = (symbol) => {
    const { flags, escapedName } = symbol;
    const target = flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const type = checker.getDeclaredTypeOfSymbol(target);
    const text = checker.typeToString(type, undefined, NoTruncation | InTypeAlias);
    const comment = ts.displayPartsToString(target.getDocumentationComment(checker));
    return `${comment && `/** ${comment} */\n`}export type ${escapedName} = ${text};\n`;
  };
  return checker
    .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
    .map(declare)
    .join('\n');
}

/** Returns the files that `entries` need, themselves included. */
function neededBy(entries, files) {
  const needed = new Set(entries);
  for (const file of needed) {
    const [extension] = /\.(d\.ts|js)$/.exec(file);
    for (const [, target] of files.get(file).matchAll(/(?:from |require\()['"](\.[^'"]*)['"]/g)) {
      needed.add(path.posix.join(path.dirname(file), target) + extension);
    }
  }
  return needed;
}

const folder = mkdtempSync(path.join(tmpdir(), 'order-service-client-'));
const write = (file, text) => {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
};
try {
  const files = await compile();
  for (const file of neededBy(['client/index.js', 'client/index.d.ts', 'client/bin.js'], files))
    write(file, files.get(file));
  write('package.json', JSON.stringify(manifest, null, 2));
  // The page's links lead to files that the package does not have.
  write(
    'README.md',
    readFileSync(inRoot('docs/sellers/clients.md'), 'utf8').replace(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, '$1'),
  );
  cpSync(inRoot('LICENSE'), path.join(folder, 'LICENSE'));
  execFileSync('npm', ['pack', folder], { stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true });
}

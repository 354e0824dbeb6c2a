import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import ts from 'typescript';
import { PACKAGE_ROOT } from '../../../tools/package-root';

/** One import, re-export, `import()` or `require()` of a source file. */
export interface Import {
  /** The importing file, from the package's root. */
  from: string;
  /** A file from the package's root, or the name of a package; a module of Node's own starts with `node:`. */
  to: string;
  /** Gone after compilation. */
  typeOnly: boolean;
}

/** The TypeScript files of some folders, from the package's root. */
export function sourceFiles(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(PACKAGE_ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => path.posix.join(folder, name)),
  );
}

export function importsOf(file: string): Import[] {
  return importsIn(file, readFileSync(path.join(PACKAGE_ROOT, file), 'utf8'));
}

/** @param text of `file`, whose folder relative specifiers are resolved from */
export function importsIn(file: string, text: string): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return;
    found.push({ from: file, to: targetOf(file, specifier.text), typeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeImport(node.importClause));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, isTypeExport(node));
    else if (ts.isExternalModuleReference(node)) add(node.expression, false);
    else if (ts.isImportTypeNode(node))
      add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true);
    else if (ts.isCallExpression(node) && isLoad(node.expression)) add(node.arguments[0], false);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.ES2022));
  return found;
}

/** Chains of files that import each other in a circle, each chain told once. */
export function cycles(imports: readonly Import[]): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, chain: string[]): void => {
    if (chain.includes(file)) found.push([...chain.slice(chain.indexOf(file)), file].join(' -> '));
    if (chain.includes(file) || done.has(file)) return;
    for (const { from, to } of imports) if (from === file) visit(to, [...chain, file]);
    done.add(file);
  };
  for (const { from } of imports) visit(from, []);
  return found;
}

function isTypeImport(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const { name, namedBindings } = clause;
  return !name && !!namedBindings && ts.isNamedImports(namedBindings) && allTypes(namedBindings.elements);
}

function isTypeExport({ isTypeOnly, exportClause }: ts.ExportDeclaration): boolean {
  return isTypeOnly || (!!exportClause && ts.isNamedExports(exportClause) && allTypes(exportClause.elements));
}

function allTypes(elements: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[]): boolean {
  return elements.length > 0 && elements.every((element) => element.isTypeOnly);
}

function isLoad(callee: ts.Expression): boolean {
  return callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === 'require');
}

function targetOf(file: string, specifier: string): string {
  if (isBuiltin(specifier)) return specifier.startsWith('node:') ? specifier : `node:${specifier}`;
  if (!specifier.startsWith('.')) return /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
  const target = path.posix.join(path.posix.dirname(file), specifier).replace(/\/$/, '');
  const candidates = [`${target}.ts`, `${target}/index.ts`, target];
  return (
    candidates.find((candidate) => /\.\w+$/.test(candidate) && existsSync(path.join(PACKAGE_ROOT, candidate))) ?? target
  );
}

import { type Migration, isContraction } from '../../src/db/migrations';

/** Takes away what the previous release uses. */
const CONTRACTS = /^drop (?!index)|\brename\b|^alter table .*\bdrop column\b/;

/** Rules for statements about tables that exist already. */
const BLOCKING: [RegExp, string][] = [
  [
    /^(create( unique)? |drop |re)index (?!concurrently|if (not )?exists concurrently)/,
    'an index without `concurrently` blocks writes',
  ],
  [/^alter table .*\balter (column )?\w+ (set data )?type\b/, 'a change of a type rewrites the table: add a column'],
  [
    /^alter table .*\bset not null\b/,
    '`set not null` reads the whole table under a lock: add a check that is `not valid`',
  ],
  [
    /^alter table .*\badd (constraint \w+ )?(check|foreign key|unique|primary key|exclude)\b(?!.*(not valid|using index))/,
    'a constraint reads the whole table under a lock: add it `not valid`, and validate it in the next file',
  ],
  [
    /^alter table .*\badd column .*\bnot null\b(?!.*\bdefault\b)/,
    'the previous release inserts rows without this column',
  ],
  [/^alter table .*\badd column .*\bdefault (?!now\(\))\w+\(/, 'a default that differs by row rewrites the table'],
  [/^(lock|truncate|cluster|vacuum full)\b/, 'it blocks the table'],
];

/**
 * What is wrong with a migration that is applied while the previous release serves a large database. It reads the text,
 * so it finds the usual mistakes and not all of them.
 * @param release that the migration is part of
 */
export function migrationFaults({ name, sql, transactional }: Migration, release: string): string[] {
  const statements = statementsOf(sql);
  const created = new Set(
    statements.flatMap((text) => /^create (?:unlogged )?table (?:if not exists )?(\w+)/.exec(text)?.[1] ?? []),
  );
  const existing = statements.filter((text) => !created.has(tableOf(text) ?? ''));
  return [
    ...existing.flatMap((text) => BLOCKING.filter(([pattern]) => pattern.test(text)).map(([, fault]) => fault)),
    ...(transactional && existing.some((text) => /^(update|delete|do)\b/.test(text))
      ? ['a change of many rows in one transaction blocks their orders: commit in batches, with `-- no-transaction`']
      : []),
    ...(!transactional && statements.length > 1 ? ['a file with `-- no-transaction` has one statement'] : []),
    ...(existing.some((text) => CONTRACTS.test(text)) ? contractFaults(name, sql, release) : []),
  ];
}

/** `0007_contract_old_column.sql` begins with `-- unused since 1.2.0`, an earlier release than the file's own. */
function contractFaults(name: string, sql: string, release: string): string[] {
  const since = /^-- unused since (\d+\.\d+\.\d+)$/m.exec(sql)?.[1];
  const isEarlier = since !== undefined && since.localeCompare(release, 'en', { numeric: true }) < 0;
  if (isContraction(name) && isEarlier) return [];
  return [
    `the previous release may use what it removes: contract in a file of a later release than ${since ?? release}`,
  ];
}

/** Without comments and the bodies of functions, in lower case, with single spaces. */
function statementsOf(sql: string): string[] {
  return sql
    .replace(/--.*$/gm, '')
    .toLowerCase()
    .replace(/\s+/g, ' ')
    .replace(/\$\$.*?\$\$/g, '')
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

function tableOf(statement: string): string | undefined {
  return /^(?:alter table (?:if exists )?(?:only )?|update |delete from |create .*? on )(\w+)/.exec(statement)?.[1];
}

import { describe, expect, it } from 'vitest';
import { cyclesOf, type Import, type SourceFile, sourcesBelow } from './support/imports.ts';

/** Which way imports may go, in one place. Whoever changes a line here changes the architecture. */

const files = ['runtime', 'contract', 'orchestrator', 'web-server', 'cli', 'scripted-model'].flatMap((name) =>
  sourcesBelow(name),
);
const production = files.filter((file) => !file.isTest);
const below = (folder: string) => production.filter((file) => file.path.startsWith(`${folder}/`));
const importsOf = (some: readonly SourceFile[]) => some.flatMap((file) => file.imports);
const reported = ({ from, to, isTypeOnly }: Import) => `${from} imports ${isTypeOnly ? 'a type of ' : ''}${to}`;

describe('packages', () => {
  const OURS = /^(@callboard\/|callboard(\/|$))/;
  const MAY_IMPORT: Record<string, RegExp> = {
    runtime: /^$/,
    contract: /^@callboard\/runtime\/waits$/,
    'scripted-model': /^@callboard\/runtime\/waits$/,
    orchestrator: /^@callboard\/(contract|runtime\/[a-z-]+)$/,
    'web-server/src/server': /^@callboard\/(contract(\/client)?|runtime\/[a-z-]+)$/,
    'web-server/src/client': /^@callboard\/(contract(\/client)?|runtime\/waits)$/,
    cli: /^@callboard\/(contract(\/client)?|runtime\/[a-z-]+|orchestrator\/[a-z-]+)$/,
  };
  /** The doctor tries the promises out on the real CLI, for which it needs the scripted model as the tests do. */
  const ALSO_MAY: Record<string, RegExp> = {
    'orchestrator/src/doctor': /^@callboard\/scripted-model$/,
    'cli/src/demo': /^@callboard\/scripted-model$/, // the model of the demo
  };

  it.each(Object.entries(MAY_IMPORT))('%s imports of ours only what it may', (folder, allowed) => {
    const isAllowed = ({ from, to }: Import) =>
      allowed.test(to) ||
      Object.entries(ALSO_MAY).some(([place, also]) => from.startsWith(`${place}/`) && also.test(to));
    const imports = importsOf(below(folder)).filter(({ to, isOurs }) => !isOurs && OURS.test(to));
    expect(imports.filter((one) => !isAllowed(one)).map(reported)).toEqual([]);
  });

  it('contract depends on zod alone, its client on a parser of event streams as well, and neither on a platform', () => {
    const isAllowed = ({ from, to }: Import) =>
      to === 'zod' ||
      (/^(eventsource-parser|@callboard\/runtime\/waits)$/.test(to) && from.startsWith('contract/src/client/'));
    const others = importsOf(below('contract')).filter((one) => !one.isOurs && !isAllowed(one));
    expect(others.map(reported)).toEqual([]);
  });

  it('runtime/waits, which the browser loads as well, depends on nothing', () => {
    const waits = production.filter(({ path }) => path === 'runtime/src/waits.ts');
    expect(waits.map(({ imports }) => imports)).toEqual([[]]);
  });

  it('no file reaches into another package, or from the server into the client or back, by its path', () => {
    const roots = [...Object.keys(MAY_IMPORT).filter((name) => name.includes('/src/')), ...Object.keys(MAY_IMPORT)];
    const rootOf = (path: string) => roots.find((root) => path.startsWith(`${root}/`)) ?? path.split('/')[0];
    const leaving = importsOf(production).filter(
      ({ from, to, isOurs }) => isOurs && rootOf(from) !== rootOf(to) && !to.endsWith('/package.json'),
    );
    expect(leaving.map(reported)).toEqual([]);
  });
});

/** Compares the folders of a package with a map of what each may import; `type x`: its types alone. */
function describeFolders(
  base: string,
  folderOf: (path: string) => string,
  may: Record<string, readonly string[]>,
): void {
  const inside = (path: string) => folderOf(path.slice(base.length + 1));

  it('has no folder that the map does not know', () => {
    const known = Object.keys(may);
    expect([...new Set(below(base).map((file) => inside(file.path)))].filter((name) => !known.includes(name))).toEqual(
      [],
    );
  });

  it.each(Object.entries(may))('%s imports only what it may', (folder, allowed) => {
    const isAllowed = ({ to, isTypeOnly }: Import) =>
      inside(to) === folder || allowed.includes(inside(to)) || (isTypeOnly && allowed.includes(`type ${inside(to)}`));
    const imports = importsOf(below(base).filter((file) => inside(file.path) === folder));
    const ours = imports.filter(({ to, isOurs }) => isOurs && to.startsWith(`${base}/`));
    expect(ours.filter((one) => !isAllowed(one)).map(reported)).toEqual([]);
  });
}

describe('the orchestrator', () => {
  const services = [
    'announcements',
    'approvals',
    'auth',
    'budgets',
    'checks',
    'comments',
    'conversations',
    'disk',
    'holds',
    'limits',
    'machines',
    'messages',
    'metrics',
    'outgoing',
    'pull-requests',
    'push',
    'receipts',
    'rewinds',
    'rules',
    'scheduler',
    'sessions',
    'side-runs',
    'stages',
    'trash',
    'trust',
    'views',
    'project-settings',
    'worktree-commands',
    'worktrees',
  ];
  const typesOf = (folders: readonly string[]) => folders.map((folder) => `type ${folder}`);

  describeFolders('orchestrator/src', (path) => path.split('/')[0] ?? '', {
    lib: [],
    agent: ['lib'],
    kinds: ['agent', 'lib'],
    store: ['agent', 'lib'],
    claude: ['agent', 'kinds', 'lib', 'type store'],
    domain: ['agent', 'kinds', 'lib', 'store'],
    worktrees: ['agent', 'lib'],
    'project-settings': ['lib', 'store', 'type worktrees'],
    'worktree-commands': ['claude', 'isolation', 'lib', 'store'],
    auth: ['lib', 'type store'],
    checks: ['domain', 'lib', 'store', 'type worktree-commands'],
    disk: ['lib', 'type store'],
    holds: ['domain', 'lib', 'store'],
    limits: ['domain', 'lib', 'store'],
    machines: ['domain', 'lib', 'store'],
    budgets: ['domain', 'lib', 'store'],
    isolation: ['lib'],
    scheduler: ['lib', 'type store'],
    stages: ['domain', 'lib', 'store', 'type trash', 'type worktrees'],
    views: ['domain', 'lib', 'store'],
    trash: ['domain', 'lib', 'store', 'type worktrees'],
    announcements: ['lib', 'type store'],
    outgoing: ['lib', 'store', ...typesOf(['announcements', 'auth', 'push', 'worktree-commands'])],
    push: ['kinds', 'lib', 'type announcements', 'type auth', 'type store'],
    approvals: ['agent', 'domain', 'kinds', 'lib', 'type store'],
    messages: ['domain', 'lib', 'store'],
    metrics: ['lib', 'type store'],
    comments: ['domain', 'lib', 'store', 'type messages', 'type worktrees'],
    conversations: ['claude', 'domain', 'lib', 'store', 'type stages', 'type worktrees'],
    'pull-requests': ['domain', 'lib', 'store', 'type worktrees'],
    receipts: ['agent', 'lib', 'store'],
    rules: ['agent', 'domain', 'kinds', 'lib', 'store', 'type sessions'],
    rewinds: ['domain', 'lib', 'store', 'type claude', 'type stages', 'type worktrees'],
    'side-runs': [
      ...['claude', 'domain', 'lib', 'store'],
      ...typesOf(['agent', 'comments', 'sessions', 'trust', 'worktree-commands', 'worktrees']),
    ],
    trust: ['claude', 'lib', 'store', 'type worktrees'],
    sessions: ['agent', 'claude', 'domain', 'lib', 'store', 'type trust', 'type worktree-commands', 'type worktrees'],
    // It is handed its parts, so it needs to know what they look like and not how they are made.
    gateway: ['domain', 'lib', 'store', ...typesOf(services.filter((name) => name !== 'scheduler'))],
    doctor: ['claude', 'data-dir.ts', 'isolation', 'lib', 'store'],
    'data-dir.ts': [],
    'version.ts': [],
    'backup.ts': ['data-dir.ts', 'lib', 'machines', 'store'],
    'migrate-store.ts': ['data-dir.ts', 'lib', 'machines', 'store'],
    'end-all-sessions.ts': ['claude', 'data-dir.ts', 'end-without-store.ts', 'lib', 'store', 'worktree-commands'],
    'end-without-store.ts': ['claude', 'data-dir.ts', 'worktree-commands'],
    compose: [
      ...['announcements', 'approvals', 'auth', 'budgets', 'checks', 'claude'],
      ...['comments', 'conversations', 'data-dir.ts', 'end-without-store.ts', 'disk', 'domain', 'gateway'],
      ...['holds', 'isolation', 'lib', 'limits', 'machines', 'messages'],
      ...['outgoing', 'project-settings', 'pull-requests', 'push', 'receipts', 'rewinds'],
      ...['rules', 'scheduler', 'sessions', 'side-runs', 'stages', 'store'],
      ...['trash', 'trust', 'version.ts', 'views', 'worktree-commands', 'worktrees'],
      ...typesOf(['doctor']),
    ],
    'compose.ts': [
      'claude',
      'compose',
      'data-dir.ts',
      'doctor',
      'gateway',
      'isolation',
      'lib',
      'store',
      'version.ts',
      ...services,
    ],
    'embed.ts': ['compose.ts'],
    'main.ts': ['compose.ts', 'lib'],
  });

  it('keeps each library that does one thing in the one place that does it', () => {
    const HOMES: Record<string, RegExp> = {
      kysely: /^orchestrator\/src\/store\/(sql|sqlite|postgres)\//,
      pg: /^orchestrator\/src\/store\/postgres\//,
      'node:sqlite':
        /^orchestrator\/src\/(store\/(sqlite\/(node-sqlite|search\/search-files)|copy\/sqlite-copy)|backup)\.ts$/,
      'prom-client': /^orchestrator\/src\/metrics\//,
      'web-push': /^orchestrator\/src\/push\//,
      ws: /^orchestrator\/src\/gateway\//,
      uuid: /^orchestrator\/src\/lib\/edges\.ts$/,
      yaml: /^orchestrator\/src\/(project-settings|stages|trust)\//,
      'node:child_process': /^orchestrator\/src\/(doctor|lib)\//,
      execa: /^orchestrator\/src\/isolation\//,
    };
    const imports = importsOf(below('orchestrator/src'));
    expect(imports.filter(({ from, to }) => HOMES[to]?.test(from) === false).map(reported)).toEqual([]);
  });

  it('knows of the store in the folder of the CLI no more than what a row to be written looks like', () => {
    const ofStore = importsOf(below('orchestrator/src/claude')).filter(({ to }) => to.includes('/src/store/'));
    expect(ofStore.map(reported)).toEqual([
      'orchestrator/src/claude/wire/encode.ts imports a type of orchestrator/src/store/records.ts',
    ]);
  });

  it('knows the store by its port alone, but for those that open the database', () => {
    const outside = importsOf(below('orchestrator/src')).filter(
      ({ from, to }) =>
        /\/src\/store\/(sql|sqlite|postgres)\//.test(to) && !/\/src\/store\/(sql|sqlite|postgres|copy)\//.test(from),
    );
    const file = (path: string) => path.slice('orchestrator/src/'.length);
    expect(outside.map(({ from, to }) => `${file(from)} imports ${file(to)}`).toSorted()).toEqual([
      'backup.ts imports store/postgres/open-for-copy.ts',
      'backup.ts imports store/sqlite/epoch.ts',
      'compose/open-storage.ts imports store/postgres/postgres-store.ts',
      'compose/open-storage.ts imports store/postgres/search/postgres-search-index.ts',
      'compose/open-storage.ts imports store/sqlite/search/sqlite-search-index.ts',
      'compose/open-storage.ts imports store/sqlite/sqlite-store.ts',
      'doctor/inspect-store.ts imports store/postgres/migrate.ts',
      'doctor/inspect-store.ts imports store/postgres/pg-link.ts',
      'doctor/inspect-store.ts imports store/postgres/server-history.ts',
      'doctor/inspect-store.ts imports store/sqlite/migrate.ts',
      'end-all-sessions.ts imports store/sqlite/sqlite-store.ts',
      'migrate-store.ts imports store/postgres/open-for-copy.ts',
    ]);
  });

  it('has no service that holds a second one: what they share is handed to them', () => {
    const folder = (path: string) => path.split('/')[2] ?? '';
    const between = importsOf(below('orchestrator/src')).filter(
      ({ from, to, isTypeOnly }) =>
        services.includes(folder(from)) && services.includes(folder(to)) && folder(from) !== folder(to) && !isTypeOnly,
    );
    expect(between.map(reported)).toEqual([]);
  });
});

describe('the board in the browser', () => {
  const isFeature = (path: string) => path.startsWith('features/');
  /** What the features share of the kinds of requests: how they are called. */
  const REQUEST_TEXTS = /^features\/interaction\/(?:kinds|words)\//;
  const folderOf = (path: string) => {
    if (REQUEST_TEXTS.test(path)) return 'request words';
    return path
      .split('/')
      .slice(0, isFeature(path) ? 2 : 1)
      .join('/');
  };
  const feature = ['data', 'lib', 'stream', 'ui'];

  describeFolders('web-server/src/client', folderOf, {
    lib: [],
    ui: ['lib'],
    data: ['lib', 'ui'],
    stream: ['data', 'lib'],
    'request words': ['features/interaction', 'lib'],
    'features/board': [...feature, 'request words'],
    'features/budgets': feature,
    'features/checks': feature,
    'features/decisions': [...feature, 'request words'],
    'features/interaction': [...feature, 'request words'],
    'features/holds': feature,
    'features/limits': feature,
    'features/logins': feature,
    'features/messages': feature,
    'features/numbers': [...feature, 'request words'],
    'features/outgoing': feature,
    'features/search': feature,
    'features/session': [...feature, 'request words'],
    'features/machines': feature,
    'features/trash': feature,
    'features/workspace': feature,
    app: [
      ...feature,
      'features/board',
      'features/budgets',
      'features/checks',
      'features/decisions',
      'features/interaction',
      'features/holds',
      'features/limits',
      'features/logins',
      'features/messages',
      ...['features/numbers', 'features/outgoing', 'features/search'],
      'features/session',
      'features/machines',
      'features/trash',
      'features/workspace',
      'request words',
    ],
    'main.tsx': ['app', 'lib', 'stream'],
    'login.ts': ['lib'],
    worker: ['lib'],
  });

  it('has no address of the API of its own: they stand in the contract (docs/decisions/api.md)', () => {
    // Not those in which a folder is called "api".
    const ADDRESS = /(?<![\w.])\/api\/.*/g;
    const found = below('web-server/src/client').flatMap(({ path, text }) =>
      [...text.matchAll(ADDRESS)].map(([address]) => `${path}: ${address}`),
    );
    expect(found).toEqual([]);
  });

  /**
   * State or a listener at the top level of a module: who owns it, and when does it end? A store owns state, and a
   * component's effect or a function called in `main.tsx` owns a listener (docs/decisions/board.md).
   */
  const AT_IMPORT = [
    /^(?:export )?(?:let|var) .*/gm,
    // A collection that nothing changes says so in its type.
    /^(?:export )?const \w+(?:: (?!Readonly)[^=]+)? = new (?:Weak)?(?:Map|Set)\b.*/gm,
    /^(?:export )?const \w+(?:: (?!readonly|Readonly)[^=]+)? = (?:\[\]|\{\});?$/gm,
    /^(?!function |export |import |const \w+ = \(|const \w+ = async ).*\b(?:addEventListener|subscribe|setInterval)\(.*/gm,
    /^.*new BroadcastChannel\(.*/gm,
  ];
  const heldAtImport = (text: string): string[] =>
    AT_IMPORT.flatMap((pattern) => [...text.matchAll(pattern)].map(([line]) => line)).filter((line) =>
      /^\S/.test(line),
    );

  it('holds no state and listens to nothing when a module is imported', () => {
    const found = below('web-server/src/client').flatMap(({ path, text }) =>
      heldAtImport(text).map((line) => `${path}: ${line}`),
    );
    // A worker is a program: nobody imports it, and it listens until it is ended.
    const WORKERS =
      /^web-server\/src\/client\/(features\/board\/api\/graph-worker|worker\/service-worker)\.ts: (self\.)?addEventListener\(/;
    const isOfWorker = (line: string) => WORKERS.test(line);
    expect(found.filter((line) => !isOfWorker(line))).toEqual([]);
    expect(found.filter(isOfWorker)).toHaveLength(7);
  });

  it.each([
    'let last: string | null = null;',
    'export let count = 0;',
    'const places = new Map<string, number>();',
    'const indexes: WeakMap<object, number> = new WeakMap();',
    'const waiting: string[] = [];',
    "window.addEventListener('pagehide', save);",
    'const stop = store.subscribe(look);',
    "const channel = new BroadcastChannel('tabs');",
  ])('would find %j', (line) => {
    expect(heldAtImport(`import { create } from 'zustand';\n\n${line}\n`)).toEqual([line]);
  });

  it('makes requests in the one place that proves the page, beside the page that logs in and the worker that passes pages on', () => {
    const fetching = below('web-server/src/client').filter(({ text }) =>
      /(?<![\w.])fetch\(|new EventSource/.test(text),
    );
    expect(fetching.map(({ path }) => path).toSorted()).toEqual([
      'web-server/src/client/lib/page-fetch.ts',
      'web-server/src/client/login.ts',
      'web-server/src/client/worker/service-worker.ts',
    ]);
  });
});

describe('all files', () => {
  it('read the environment at the edge of their process, and nowhere else', () => {
    const PLATFORM =
      /^(orchestrator\/src\/main|scripted-model\/src\/emulator\/main|web-server\/src\/server\/main|cli\/src\/edges|scripted-model\/src\/main)\.ts$/;
    const reading = production.filter((file) => file.path.includes('/src/') && file.text.includes('process.env'));
    expect(reading.map((file) => file.path).filter((path) => !PLATFORM.test(path))).toEqual([]);
  });

  /** Rings that are still to be opened. None may come to them. */
  const KNOWN_RINGS = [
    'web-server/src/client/app/pages.tsx',
    'web-server/src/client/features/session/components/item-view.tsx',
  ];

  it('import each other in no ring, not even of types', () => {
    const rings = cyclesOf(files).filter((ring) => !KNOWN_RINGS.some((known) => ring.includes(known)));
    expect(rings).toEqual([]);
  });
});

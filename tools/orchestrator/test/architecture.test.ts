import { describe, expect, it } from 'vitest';
import { cyclesOf, type Import, type SourceFile, sourcesBelow } from './support/imports.ts';

/** Which way imports may go, in one place. Whoever changes a line here changes the architecture. */

const files = ['runtime', 'contract', 'orchestrator', 'store-postgres', 'web-server', 'cli', 'scripted-model'].flatMap(
  (name) => sourcesBelow(name),
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
    'store-postgres':
      /^@callboard\/(contract|runtime\/[a-z-]+|orchestrator\/(store|search|storage-error|machines|end-all-sessions))$/,
    'web-server/src/server': /^@callboard\/(contract(\/client)?|runtime\/[a-z-]+)$/,
    'web-server/src/client': /^@callboard\/(contract(\/client)?|runtime\/waits)$/,
    cli: /^@callboard\/(contract(\/client)?|runtime\/[a-z-]+|orchestrator\/[a-z-]+|store-postgres(\/[a-z-]+)?)$/,
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
  /** A folder below `core`, `features`, `platform` or `store` counts by itself, and so does a file of `core`. */
  const folderOf = (path: string) => {
    const [first = '', second = ''] = path.split('/');
    if (first === 'features') return path.split('/').length > 2 ? `${first}/${second}` : first;
    if (first === 'core') return `${first}/${second}`;
    if (first === 'platform') return second === 'git' ? 'platform/git' : first;
    if (first === 'store') return /^(sql|sqlite)$/.test(second) ? `store/${second}` : first;
    return first;
  };
  const typesOf = (folders: readonly string[]) => folders.map((folder) => `type ${folder}`);
  const core = [
    'agent-event.ts',
    'claude',
    'commands',
    'executor',
    'kinds',
    'launch',
    'permissions',
    'session',
    'shell',
  ];
  const ofCore = [...core, 'worktrees'].map((name) => `core/${name}`);
  const drivers = ['store/sql', 'store/sqlite'];
  const feature = [...ofCore, 'lib', 'platform', 'platform/git', 'store'];
  /** Types of another feature that a feature still needs. None may be added. */
  const LEFT: Record<string, readonly string[]> = {
    comments: ['messages'],
    review: ['comments'],
    stages: ['trash'],
  };
  const features = [
    ...new Set(below('orchestrator/src/features').map(({ path }) => path.split('/')[3] ?? '')),
  ].toSorted();

  describeFolders('orchestrator/src', folderOf, {
    lib: [],
    platform: ['lib'],
    'platform/git': ['lib', 'platform'],
    store: ['lib', 'platform'],
    ...Object.fromEntries(drivers.map((name) => [name, ['lib', 'platform', 'store', ...drivers]])),
    'core/agent-event.ts': ['lib'],
    'core/kinds': ['core/agent-event.ts', 'lib'],
    'core/permissions': ['core/agent-event.ts', 'lib'],
    'core/claude': ['core/agent-event.ts', 'core/kinds', 'lib', 'platform', 'platform/git', 'type store'],
    'core/worktrees': ['lib', 'platform', 'platform/git'],
    'core/commands': ['lib', 'type platform', 'type store'],
    'core/shell': ['core/claude', 'lib', 'platform', 'store'],
    'core/session': [
      ...['core/agent-event.ts', 'core/kinds', 'core/permissions', 'lib', 'store'],
      ...typesOf(['core/worktrees', 'platform']),
    ],
    'core/executor': ['core/agent-event.ts', 'core/claude', 'core/session', 'lib', 'type platform', 'store'],
    'core/launch': [
      ...[
        'core/claude',
        'core/executor',
        'core/permissions',
        'core/session',
        'lib',
        'platform',
        'platform/git',
        'store',
      ],
      ...typesOf(['core/shell', 'core/worktrees']),
    ],
    ...Object.fromEntries(
      features.map((name) => [
        `features/${name}`,
        [...feature, ...(LEFT[name] ?? []).map((other) => `type features/${other}`)],
      ]),
    ),
    gateway: ['core/session', 'lib', 'platform', 'store', ...typesOf(['core/commands'])],
    doctor: ['core/claude', 'core/shell', 'lib', 'platform', 'platform/git', 'store', ...drivers],
    'version.ts': [],
    'backup.ts': ['lib', 'platform', 'store', ...drivers],
    'add-ons': [
      ...[...feature, ...drivers, ...features.map((name) => `features/${name}`)],
      ...['type compose', 'gateway', 'version.ts'],
    ],
    'end-all-sessions.ts': ['core/claude', 'core/shell', 'lib', 'platform', 'store', 'store/sqlite'],
    compose: [
      ...[...feature, ...drivers, ...features.map((name) => `features/${name}`)],
      ...['doctor', 'end-all-sessions.ts', 'gateway', 'version.ts'],
    ],
    'compose.ts': [
      ...[...feature, ...features.map((name) => `features/${name}`)],
      ...['compose', 'doctor', 'gateway', 'version.ts'],
    ],
    'embed.ts': ['compose.ts'],
    'main.ts': ['compose.ts', 'lib'],
  });

  it('keeps each library that does one thing in the one place that does it', () => {
    const HOMES: Record<string, RegExp> = {
      kysely: /^(orchestrator\/src\/store\/(sql|sqlite)|store-postgres\/src)\//,
      pg: /^store-postgres\/src\//,
      'node:sqlite':
        /^(orchestrator\/src\/(store\/sqlite\/(node-sqlite|search-files)|backup)|store-postgres\/src\/sqlite-copy)\.ts$/,
      'prom-client': /^orchestrator\/src\/features\/metrics\//,
      'web-push': /^orchestrator\/src\/features\/push\//,
      ws: /^(orchestrator\/src\/gateway|store-postgres\/src\/machines)\//,
      uuid: /^orchestrator\/src\/platform\/runtime\.ts$/,
      yaml: /^orchestrator\/src\/features\/(projects|stages|trust)\//,
      'node:child_process': /^orchestrator\/src\/(doctor|platform)\//,
      execa: /^orchestrator\/src\/platform\/bubblewrap\.ts$/,
    };
    const imports = importsOf([...below('orchestrator/src'), ...below('store-postgres/src')]);
    expect(imports.filter(({ from, to }) => HOMES[to]?.test(from) === false).map(reported)).toEqual([]);
  });

  it('knows of the store in the folder of the CLI no more than what a row to be written looks like', () => {
    const ofStore = importsOf(below('orchestrator/src/core/claude')).filter(({ to }) => to.includes('/src/store/'));
    expect(ofStore.map(reported)).toEqual([
      'orchestrator/src/core/claude/frames.ts imports a type of orchestrator/src/store/records.ts',
    ]);
  });

  it('knows the store by its port alone, but for those that open the database', () => {
    const outside = importsOf(below('orchestrator/src')).filter(
      ({ from, to }) => /\/src\/store\/(sql|sqlite)\//.test(to) && !/\/src\/(store\/(sql|sqlite)|add-ons)\//.test(from),
    );
    const file = (path: string) => path.slice('orchestrator/src/'.length);
    const opening = new Set(outside.map(({ from, to }) => `${file(from)} imports ${file(to)}`));
    expect([...opening].toSorted()).toEqual([
      'backup.ts imports store/sqlite/node-sqlite.ts',
      'compose/open-storage.ts imports store/sqlite/sqlite-store.ts',
      'doctor/inspect.ts imports store/sqlite/node-sqlite.ts',
      'end-all-sessions.ts imports store/sqlite/sqlite-store.ts',
    ]);
  });
});

describe('the board in the browser', () => {
  /** What the features share of the kinds of requests: how they are called. */
  const REQUEST_KINDS = /^features\/approvals\/kinds\//;
  const folderOf = (path: string) => {
    if (REQUEST_KINDS.test(path)) return 'request kinds';
    return path
      .split('/')
      .slice(0, path.startsWith('features/') ? 2 : 1)
      .join('/');
  };
  const feature = ['data', 'lib', 'stream', 'ui', 'request kinds'];
  /** What a feature still needs of another one. None may be added: features meet in `app`. */
  const LEFT: Record<string, readonly string[]> = {
    approvals: ['features/rules', 'features/trust'],
    changes: ['features/review'],
    details: ['features/transcript'],
    finish: ['features/pull-requests'],
    inbox: ['features/approvals'],
    projects: ['features/pipelines', 'features/worktrees'],
    'pull-requests': ['features/review'],
    rules: ['features/trust'],
  };
  const features = [
    ...new Set(below('web-server/src/client/features').map(({ path }) => path.split('/')[4] ?? '')),
  ].toSorted();

  describeFolders('web-server/src/client', folderOf, {
    lib: [],
    ui: ['lib'],
    data: ['lib', 'ui'],
    stream: ['data', 'lib'],
    'request kinds': ['features/approvals', 'lib'],
    ...Object.fromEntries(features.map((name) => [`features/${name}`, [...feature, ...(LEFT[name] ?? [])]])),
    app: [...feature, ...features.map((name) => `features/${name}`)],
    'main.tsx': ['app', 'data', 'lib', 'stream'],
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
      /^web-server\/src\/client\/(features\/board\/graph-worker|worker\/service-worker)\.ts: (self\.)?addEventListener\(/;
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
      /^(orchestrator\/src\/main|scripted-model\/src\/emulator\/main|web-server\/src\/server\/main|cli\/src\/platform|scripted-model\/src\/main)\.ts$/;
    const reading = production.filter((file) => file.path.includes('/src/') && file.text.includes('process.env'));
    expect(reading.map((file) => file.path).filter((path) => !PLATFORM.test(path))).toEqual([]);
  });

  /** Rings that are still to be opened. None may come to them. */
  const KNOWN_RINGS = [
    'web-server/src/client/app/pages.tsx',
    'web-server/src/client/features/transcript/item-view.tsx',
  ];

  it('import each other in no ring, not even of types', () => {
    const rings = cyclesOf(files).filter((ring) => !KNOWN_RINGS.some((known) => ring.includes(known)));
    expect(rings).toEqual([]);
  });
});

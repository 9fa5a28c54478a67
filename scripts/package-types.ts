import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

const root = join(import.meta.dirname, '..');

/**
 * Writes the types of what a program can import from the package: `callboard.d.ts` and `client.d.ts`. Zod's types are in
 * them, since the package has no dependencies.
 */
export async function writePackageTypes(dir: string): Promise<void> {
  await using bundled = await rolldown({
    cwd: root,
    input: { callboard: 'tools/orchestrator/src/embed.ts', client: 'tools/contract/src/client/index.ts' },
    plugins: dts({
      dtsOnly: true,
      sourcemap: false,
      tsconfig: join(root, 'tsconfig.package.json'),
      logger: { info: () => undefined, warn: () => undefined, error: console.error },
    }),
    logLevel: 'silent', // warns of each of zod's languages, which are left out
  });
  await bundled.write({ dir, format: 'esm', entryFileNames: '[name].d.ts', chunkFileNames: 'shared.d.ts' });
}

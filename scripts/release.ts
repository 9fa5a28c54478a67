/**
 * `npm run release -- 0.2.0`: prepares a release and stops before publishing. Sets the version, runs all tests (`test:all`), builds the
 * package, and prints the remaining commands. It commits nothing.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bundles.ts';

const version = process.argv[2] ?? '';
const run = (program: string, args: string[]) => execFileSync(program, args, { cwd: root, stdio: 'inherit' });
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });

/** Returns why a release is not possible now, with the next step; null if it is. */
function complaint(): string | null {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return 'Give the version: npm run release -- 0.2.0';
  if (git('status', '--porcelain') !== '') return 'There are uncommitted changes. Commit them first.';
  if (git('tag', '--list', `v${version}`) !== '') return `There is a tag v${version} already. Choose another version.`;
  if (
    !readFileSync(join(root, 'CHANGELOG.md'), 'utf8').match(
      new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(\\d{4}-`, 'm'),
    )
  )
    return `CHANGELOG.md has no section "## ${version} (<date>)". Write it first.`;
  return null;
}

/** Sets the version in each package, and in references between packages. */
function setVersion(): void {
  const manifests = ['.', ...readdirSync(join(root, 'tools')).map((tool) => join('tools', tool))];
  for (const folder of manifests) {
    const path = join(root, folder, 'package.json');
    const text = readFileSync(path, 'utf8');
    const own = text.replace(/^( {2}"version": )"[^"]*"/m, `$1"${version}"`);
    writeFileSync(path, own.replaceAll(/("@callboard\/[\w-]+": )"[^"]*"/g, `$1"${version}"`));
  }
  run('npm', ['install', '--package-lock-only']);
}

const why = complaint();
if (why !== null) {
  console.error(`release: ${why}`);
  process.exitCode = 1;
} else {
  setVersion();
  run('npm', ['run', 'test:all']);
  run('npm', ['run', '--silent', 'pack']);
  console.log(`
Nothing is published yet. What remains:
  git commit --all --message "Release ${version}" && git tag v${version}
  npm publish dist/callboard-${version}.tgz
  git push --follow-tags`);
}

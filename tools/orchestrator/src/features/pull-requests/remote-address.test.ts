import { expect, it } from 'vitest';
import { compareUrl, kindOf, parseRemote } from './code-host.ts';

it.each([
  ['https://github.com/acme/shop.git', 'github.com', 'acme/shop', false],
  ['https://ada:secret@git.example.org:8443/acme/shop', 'git.example.org:8443', 'acme/shop', false],
  ['git@github.com:acme/shop.git', 'github.com', 'acme/shop', true],
  ['work:acme/shop', 'work', 'acme/shop', true],
  ['ssh://git@gitlab.example.org:2222/group/sub/shop.git', 'gitlab.example.org', 'group/sub/shop', true],
])('reads %s', (address, host, path, isSsh) => {
  expect(parseRemote(address)).toEqual({ host, path, isSsh });
});

it.each(['/srv/git/shop.git', '../shop.git', 'file:///srv/git/shop.git', 'shop', 'host:shop', '-x:acme/shop', ''])(
  'finds no code host in %j',
  (address) => expect(parseRemote(address)).toBeNull(),
);

it('knows hosts by their names, and none by a part of a word', () => {
  expect(['github.com', 'github.acme.org', 'gitlab.com', 'gitlab.acme.org'].map(kindOf)).toEqual([
    ...['github', 'github', 'gitlab', 'gitlab'],
  ]);
  expect(['git.acme.org', 'notgithub.com', 'mygitlab.acme.org'].map(kindOf)).toEqual([null, null, null]);
});

it('leads to the page on which a person goes on', () => {
  const at = { host: 'github.com', path: 'acme/shop', isSsh: false };
  const both = { base: 'main', branch: 'callboard/STAGE-1#x' };
  expect(compareUrl('github', at, both)).toBe(
    'https://github.com/acme/shop/compare/main...callboard/STAGE-1%23x?expand=1',
  );
  expect(compareUrl('gitlab', { ...at, host: 'gitlab.com' }, both)).toContain(
    '/-/merge_requests/new?merge_request%5Bsource_branch%5D=callboard%2FSTAGE-1%23x',
  );
});

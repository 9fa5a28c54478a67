import { expect, it } from 'vitest';
import { remoteName } from './machine-stores.ts';

it.each([
  ['https://github.com/acme/shop.git', 'github.com/acme/shop'],
  ['https://ada:secret@GitHub.com/acme/shop', 'github.com/acme/shop'],
  ['ssh://git@github.com:22/acme/shop.git/', 'github.com/acme/shop'],
  ['git@github.com:acme/shop.git', 'github.com/acme/shop'],
  ['gitea.example:acme/shop', 'gitea.example/acme/shop'],
])('%s is %s', (address, name) => {
  expect(remoteName(address)).toBe(name);
});

it.each(['/srv/git/shop.git', 'file:///srv/git/shop.git', '../shop', ''])(
  '%s names a folder, not a remote',
  (address) => {
    expect(remoteName(address)).toBeNull();
  },
);

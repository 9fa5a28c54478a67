import { expect, it } from 'vitest';
import { isDatabaseUrl, nameOfDatabase, parseDatabaseUrl } from './database-url.ts';

it.each([
  ['postgres://db.example/callboard', 'db.example:5432/callboard'],
  ['POSTGRESQL://ann:secret@db.example:6000/callboard?sslmode=verify-full', 'db.example:6000/callboard'],
  ['postgres://ann:secret@one:1,two,[::1]:3/board', 'one:1,two:5432,[::1]:3/board'],
  ['postgres:///board', 'localhost:5432/board'],
  ['postgres://ann@%2Fvar%2Frun%2Fpostgresql/board', '/var/run/postgresql:5432/board'],
  ['postgres:///board?host=/var/run/postgresql', '/var/run/postgresql:5432/board'],
])('names the database of %s without its secrets', (url, name) => {
  expect(nameOfDatabase(parseDatabaseUrl(url))).toBe(name);
});

it('decodes what is percent-encoded', () => {
  const { user, password, database, parameters } = parseDatabaseUrl(
    'postgres://an%40n:p%3A%2F%25:w@h/a%20b?application_name=x%26y',
  );
  expect({ user, password, database }).toEqual({ user: 'an@n', password: 'p:/%:w', database: 'a b' });
  expect(parameters).toEqual(new Map([['application_name', 'x&y']]));
  expect(parseDatabaseUrl('postgres://h/d')).toMatchObject({ user: null, password: null });
});

it.each([
  ['mysql://ann:hush@h/d', 'does not begin with postgres://'],
  ['ann:hush', 'does not begin with postgres://'],
  ['postgres://ann:hush@h', 'names no database'],
  ['postgres://ann:hu@sh@h/d', 'must be percent-encoded'],
  ['postgres://ann:hu#sh@h/d', 'must be percent-encoded'],
  ['postgres://ann:hush@h/d x', 'must be percent-encoded'],
  ['postgres://ann:hush@h/d\nx', 'must be percent-encoded'],
  ['postgres://ann:hu%sh@h/d', 'percent sign'],
  ['postgres://ann:hush@h:0/d', 'host or port'],
  ['postgres://ann:hush@h:99999/d', 'host or port'],
  ['postgres://ann:hush@h:x/d', 'host or port'],
  ['postgres://ann:hush@h/d?sslmode', 'not name=value'],
])('says what is wrong with %s, without repeating any of it', (url, text) => {
  const message = messageFor(url);
  expect(message).toContain(text);
  expect(message).not.toMatch(/hu[s%#@]|ann:/);
});

function messageFor(url: string): string {
  try {
    parseDatabaseUrl(url);
  } catch (error) {
    return String(error);
  }
  throw new Error('it was accepted');
}

it('recognises a URL of a database whatever it holds', () => {
  expect(['postgres://', 'Postgresql://x y', 'https://x'].map(isDatabaseUrl)).toEqual([true, true, false]);
});

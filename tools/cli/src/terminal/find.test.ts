import { sampleProject, sampleRequest, sampleStage } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { findProject, findRequest, findStage, projectAt, shortIds } from './find.ts';

const board = {
  stages: ['STAGE-1', 'STAGE-10', 'STAGE-11', 'login-form'].map((id) => ({
    ...sampleStage({ id }),
    column: 'ready' as const,
    session: null,
  })),
};

it.each([
  ['STAGE-1', 'STAGE-1'],
  ['stage-1', 'STAGE-1'],
  ['10', 'STAGE-10'],
  ['log', 'login-form'],
])('finds the stage for %s', (text, id) => expect(findStage(board, text, String).id).toBe(id));

it('refuses a beginning that several stages have, and one that none has', () => {
  expect(() => findStage({ stages: board.stages.slice(1) }, 'STAGE-1', String)).toThrow(
    'several stages: STAGE-10, STAGE-11',
  );
  expect(() => findStage(board, 'x', String)).toThrow('there is no stage "x"');
});

const pending = ['aaaaaaaa-1', 'aaaaaaaa-2', 'b'].map((requestId) => sampleRequest({ requestId }));

it('finds a request by the beginning of its id, and never guesses', () => {
  expect(findRequest(pending, 'b')).toBe(pending[2]);
  expect(findRequest(pending, 'aaaaaaaa-2')).toBe(pending[1]);
  expect(findRequest(pending, 'c')).toBeNull();
  expect(() => findRequest(pending, 'aaaa')).toThrow('several requests: aaaaaaaa-1 (STAGE-1), aaaaaaaa-2 (STAGE-1)');
});

it('shortens ids as far as they stay different', () => {
  const long = ['12345678-aa', '12345678-ab', '87654321-zz'].map((requestId) => sampleRequest({ requestId }));
  expect([...shortIds(long).values()]).toEqual(['12345678-aa', '12345678-ab', '87654321']);
});

it('finds the project of a folder: the innermost around it, or the only one', () => {
  const shop = sampleProject({ id: 'shop', path: '/code/shop' });
  const inner = sampleProject({ id: 'inner', path: '/code/shop/inner' });
  expect(projectAt([shop, inner], '/code/shop/inner/src')).toBe(inner);
  expect(projectAt([shop, inner], '/code/shopping')).toBeNull();
  expect(projectAt([shop], '/elsewhere')).toBe(shop);
  expect(findProject([shop, inner], 'INNER')).toBe(inner);
});

import type { Draft } from '@callboard/contract';
import { expect, it } from 'vitest';
import { at, stage } from '../../test/samples.ts';
import { replacedMessages } from './message-box.tsx';

const ids = ['0b5d3bd7-3c0e-4d5f-8f3c-6b0f3a0c9f11', '9e107d9d-372b-4d0f-9a3a-1f6f0c5ad0b2'];
const draft = (key: string, value: unknown): Draft => ({
  stageId: stage('STAGE-1').id,
  key,
  value,
  updatedAt: at(1),
  writer: null,
});
const message = (text: string, position: number) => ({ text, isCommand: false, position, files: [] });

it('lists the replaced messages in queue order, and no other draft', () => {
  const saved = replacedMessages([
    draft('message', 'half a thought'),
    draft(`replaced:${ids[0]}`, message('second', 5)),
    draft(`replaced:${ids[1]}`, message('first', 2)),
    draft('replaced:nonsense', message('third', 7)),
    draft(`replaced:${ids[0]}`, 'nonsense'),
  ]);
  expect(saved.map(({ text, messageId }) => [text, messageId])).toEqual([
    ['first', ids[1]],
    ['second', ids[0]],
  ]);
});

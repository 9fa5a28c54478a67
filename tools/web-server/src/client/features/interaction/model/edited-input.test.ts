import { expect, it } from 'vitest';
import { changedInput, editableText, editProblem } from './edited-input.ts';

const bash = { toolName: 'Bash', input: { command: 'ls', description: 'Look' } };
const read = { toolName: 'Read', input: { file_path: '/a' } };

it('edits a command as text and keeps the rest of its input', () => {
  expect(editableText(bash)).toBe('ls');
  expect(changedInput(bash, 'ls -l')).toEqual({ command: 'ls -l', description: 'Look' });
  expect(editProblem(bash, ' ')?.message).toBe('There is no command to run.');
});

it('edits any other input as JSON', () => {
  expect(JSON.parse(editableText(read))).toEqual(read.input);
  expect(changedInput(read, '{"file_path": "/b"}')).toEqual({ file_path: '/b' });
  expect(changedInput(read, '{"file_path": ')).toBeUndefined();
});

it('sends no input if nothing was changed', () => {
  expect(changedInput(bash, null)).toBeUndefined();
  expect(changedInput(bash, 'ls')).toBeUndefined();
  expect(changedInput(read, '{\n"file_path":"/a"}')).toBeUndefined();
});

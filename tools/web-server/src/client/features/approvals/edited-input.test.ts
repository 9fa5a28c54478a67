import { expect, it } from 'vitest';
import { changedInput, editableText, editedTexts, editorKind, editProblem, withText } from './edited-input.ts';

const bash = { toolName: 'Bash', input: { command: 'ls', description: 'Look' } };
const read = { toolName: 'Read', input: { file_path: '/a' } };
const edit = { toolName: 'Edit', input: { file_path: '/a', old_string: 'x', new_string: 'y\n', replace_all: true } };
const edits = [
  { old_string: 'a', new_string: 'b' },
  { old_string: 'c', new_string: 'd', replace_all: true },
];
const many = { toolName: 'MultiEdit', input: { file_path: '/a', edits } };

it('edits a command as text and keeps the rest of its input', () => {
  expect(editableText(bash)).toBe('ls');
  expect(changedInput(bash, 'ls -l')).toEqual({ command: 'ls -l', description: 'Look' });
  expect(editProblem(bash, ' ')?.message).toBe('There is no command to run.');
});

it('edits the new text of an edit, and nothing else of it', () => {
  const edited = withText(edit, editableText(edit), 0, 'const "y" = 1;\n');
  expect(changedInput(edit, edited)).toEqual({ ...edit.input, new_string: 'const "y" = 1;\n' });
  expect(changedInput(edit, withText(edit, edited, 0, ''))).toEqual({ ...edit.input, new_string: '' });
  const write = { toolName: 'Write', input: { file_path: '/a', content: '' } };
  expect(changedInput(write, withText(write, editableText(write), 0, 'x'))).toEqual({ file_path: '/a', content: 'x' });
});

it('edits each piece of an edit of several', () => {
  const edited = withText(many, editableText(many), 1, 'D');
  expect(editedTexts(many, edited)).toEqual(['b', 'D']);
  expect(changedInput(many, edited)).toEqual({ file_path: '/a', edits: [edits[0], { ...edits[1], new_string: 'D' }] });
});

it('keeps the line ends of a text, which a text box loses', () => {
  const crlf = { toolName: 'Write', input: { file_path: '/a', content: 'a\r\nb\r\n' } };
  expect(changedInput(crlf, withText(crlf, editableText(crlf), 0, 'a\nb\n'))).toBeUndefined();
  expect(changedInput(crlf, withText(crlf, editableText(crlf), 0, 'a\nc\n'))?.content).toBe('a\r\nc\r\n');
  expect(editorKind({ toolName: 'Write', input: { content: 'a\r\nb\n' } })).toBe('json');
  expect(editorKind({ toolName: 'Write', input: { content: 'a\rb' } })).toBe('json');
});

it('edits any other input as JSON', () => {
  expect(JSON.parse(editableText(read))).toEqual(read.input);
  expect(changedInput(read, '{"file_path": "/b"}')).toEqual({ file_path: '/b' });
  expect(changedInput(read, '{"file_path": ')).toBeUndefined();
  expect(editorKind({ toolName: 'MultiEdit', input: { edits: 'none' } })).toBe('json');
});

it('sends no input if nothing was changed', () => {
  expect(changedInput(bash, null)).toBeUndefined();
  expect(changedInput(bash, 'ls')).toBeUndefined();
  expect(changedInput(read, '{\n"file_path":"/a"}')).toBeUndefined();
  expect(changedInput(edit, editableText(edit))).toBeUndefined();
  expect(changedInput(many, editableText(many))).toBeUndefined();
});

it('takes the text of the call if a draft has no texts, as one of an older release', () => {
  expect(editedTexts(edit, '{"file_path":"/a"}')).toEqual(['y\n']);
  expect(changedInput(edit, 'not JSON')).toBeUndefined();
});

import { expect, it } from 'vitest';
import { createEmitter } from './emitter.ts';

it('calls every listener in order, until it unsubscribes', () => {
  const emitter = createEmitter<number>();
  const heard: string[] = [];
  const stop = emitter.subscribe((n) => heard.push(`a${n}`));
  emitter.subscribe((n) => heard.push(`b${n}`));
  emitter.emit(1);
  stop();
  stop();
  emitter.emit(2);
  expect(heard).toEqual(['a1', 'b1', 'b2']);
});

it('does not call a listener that is removed while others are called', () => {
  const emitter = createEmitter();
  const heard: string[] = [];
  emitter.subscribe(() => stopB());
  const stopB = emitter.subscribe(() => heard.push('b'));
  emitter.subscribe(() => heard.push('c'));
  emitter.emit();
  expect(heard).toEqual(['c']);
});

it('calls the other listeners if one throws, and throws its error afterwards', () => {
  const emitter = createEmitter();
  const heard: string[] = [];
  emitter.subscribe(() => {
    throw new Error('first');
  });
  emitter.subscribe(() => heard.push('b'));
  expect(() => emitter.emit()).toThrow('first');
  expect(heard).toEqual(['b']);
});

it('reports the errors of listeners to onError instead of throwing them', () => {
  const errors: unknown[] = [];
  const emitter = createEmitter((error) => errors.push(error));
  const fail = (text: string) => () => {
    throw new Error(text);
  };
  emitter.subscribe(fail('one'));
  emitter.subscribe(fail('two'));
  emitter.emit();
  expect(errors).toEqual([new Error('one'), new Error('two')]);
});

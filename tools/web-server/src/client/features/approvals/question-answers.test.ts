import type { Question } from '@callboard/contract';
import { expect, it } from 'vitest';
import {
  answersOf,
  answerText,
  choose,
  EMPTY_ANSWER,
  isComplete,
  progress,
  questionName,
  typeOther,
} from './request-drafts.ts';

const options = [{ label: 'Red' }, { label: 'Green' }, { label: 'Blue' }];
const single: Question = { question: 'Which one?', options };
const multi: Question = { question: 'Which ones?', options, multiSelect: true };

it('answers a single choice with the label of the last option chosen', () => {
  const draft = choose(single, choose(single, EMPTY_ANSWER, 'Red', true), 'Blue', true);
  expect(answerText(single, draft)).toBe('Blue');
});

it('joins the labels of a multiple choice in the order they were offered', () => {
  const draft = choose(multi, choose(multi, EMPTY_ANSWER, 'Blue', true), 'Red', true);
  expect(answerText(multi, draft)).toBe('Red, Blue');
  expect(answerText(multi, choose(multi, draft, 'Red', false))).toBe('Blue');
});

it('sends free text as it is', () => {
  expect(answerText(single, typeOther(single, EMPTY_ANSWER, '  two words, a comma '))).toBe('  two words, a comma ');
});

it('lets free text replace the option of a single choice, and an option replace the text', () => {
  const typed = typeOther(single, choose(single, EMPTY_ANSWER, 'Red', true), 'Pink');
  expect(answerText(single, typed)).toBe('Pink');
  const chosen = choose(single, typed, 'Green', true);
  expect(answerText(single, chosen)).toBe('Green');
  expect(chosen.other).toBe('Pink');
});

it('adds free text to the labels of a multiple choice', () => {
  expect(answerText(multi, typeOther(multi, choose(multi, EMPTY_ANSWER, 'Red', true), 'Pink'))).toBe('Red, Pink');
});

it('is complete once every question has an answer', () => {
  const red = choose(multi, EMPTY_ANSWER, 'Red', true);
  expect(isComplete([single, multi], answersOf([single, multi], [EMPTY_ANSWER, red]))).toBe(false);
  const blank = typeOther(single, EMPTY_ANSWER, '   ');
  expect(isComplete([single, multi], answersOf([single, multi], [blank, red]))).toBe(false);
  const answers = answersOf([single, multi], [typeOther(single, EMPTY_ANSWER, 'x'), red]);
  expect(answers).toEqual({ 'Which one?': 'x', 'Which ones?': 'Red' });
  expect(isComplete([single, multi], answers)).toBe(true);
  expect(isComplete([], {})).toBe(false);
});

it('counts the answers of several questions, and finds the next open one', () => {
  const chosen = choose(single, EMPTY_ANSWER, 'Red', true);
  const both = [single, multi];
  expect(progress(both, answersOf(both, []))).toEqual({ text: '0 of 2 answered', next: 0 });
  expect(progress(both, answersOf(both, [chosen]))).toEqual({ text: '1 of 2 answered', next: 1 });
  expect(progress(both, answersOf(both, [chosen, chosen]))).toBeNull();
  expect(progress([single], {})).toBeNull();
  expect([single, { ...multi, header: 'Colours' }].map(questionName)).toEqual(['Which one?', 'Colours']);
});

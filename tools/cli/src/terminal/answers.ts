import {
  contentOf,
  type FieldValue,
  type FormField,
  fieldProblem,
  isFilledIn,
  joinLabels,
  type Question,
  type ToolInput,
} from '@callboard/contract';
import { UsageError } from '../errors.ts';

/**
 * Returns the answer to a question as it is sent: the labels of the options that are named by number or label, or the text itself.
 * @param text "2", "1,3", "PostgreSQL", or words that no option has
 * @throws UsageError for an empty text, the number of no option, or several options where one is asked for
 */
export function answerOf({ question, options = [], multiSelect = false }: Question, text: string): string {
  const given = text.trim();
  const about = JSON.stringify(question);
  if (given === '') throw new UsageError(`the answer to ${about} is empty.`);
  const label = (word: string) => options.find((option) => option.label.toLowerCase() === word.toLowerCase())?.label;
  const whole = label(given);
  if (whole !== undefined) return whole;
  const parts = given.split(',').map((part) => part.trim());
  if (options.length === 0 || !parts.every((part) => isNumber(part) || label(part) !== undefined)) return given;
  const labels = parts.map((part) => {
    const found = label(part) ?? options[Number(part) - 1]?.label;
    if (found === undefined) throw new UsageError(`${about} has no option ${part}; it has ${options.length}.`);
    return found;
  });
  if (labels.length > 1 && !multiSelect) throw new UsageError(`${about} takes one option, not ${labels.length}.`);
  // In the order in which they were offered, each once.
  return joinLabels(options.map((option) => option.label).filter((one) => labels.includes(one)));
}

const isNumber = (text: string): boolean => /^\d{1,4}$/.test(text);

/**
 * Returns the answers to all questions of a request, in their order.
 * @throws UsageError for a wrong number of answers, and as `answerOf`
 */
export function answersOf(questions: readonly Question[], texts: readonly string[]): Record<string, string> {
  if (texts.length !== questions.length) {
    const wanted = questions.length === 1 ? 'one answer' : `${questions.length} answers`;
    throw new UsageError(`this request needs ${wanted}, in the order of its questions; ${texts.length} given.`);
  }
  return Object.fromEntries(
    questions.map((question, index) => [question.question, answerOf(question, texts[index] ?? '')]),
  );
}

/**
 * Returns the content of a form from words like `city=Berlin`.
 * @throws UsageError for an unknown field, a value that does not fit, and a missing one
 */
export function formContent(fields: readonly FormField[], texts: readonly string[]): ToolInput {
  const values: Record<string, FieldValue> = {};
  for (const text of texts) {
    const at = text.indexOf('=');
    const name = text.slice(0, Math.max(0, at));
    const field = fields.find((one) => one.name === name);
    if (field === undefined) {
      const known = fields.map((one) => one.name).join(', ');
      throw new UsageError(`${JSON.stringify(text)} is no field=value. The fields are: ${known}.`);
    }
    values[name] = fieldValueOf(field, text.slice(at + 1));
  }
  if (!isFilledIn(fields, values)) {
    const missing = fields.filter((one) => !isFilledIn([one], values)).map((one) => one.name);
    throw new UsageError(`the form needs a value for ${missing.join(', ')}, as field=value.`);
  }
  return contentOf(fields, values);
}

/** Returns the value of a field. @throws UsageError if it does not fit */
export function fieldValueOf({ name, kind, choices }: FormField, text: string): FieldValue {
  const given = text.trim();
  if (kind === 'flag') {
    if (/^(y|yes|true)$/i.test(given)) return true;
    if (/^(n|no|false)$/i.test(given)) return false;
    throw new UsageError(`${name} is yes or no.`);
  }
  if (kind === 'choice') {
    const found = choices.find(({ value, label }) => [value, label].includes(given)) ?? choices[Number(given) - 1];
    if (found === undefined)
      throw new UsageError(`${name} is one of: ${choices.map(({ label }) => label).join(', ')}.`);
    return found.value;
  }
  const problem = fieldProblem(kind, given);
  if (problem !== null) throw new UsageError(`${name}: ${problem}`);
  return given;
}

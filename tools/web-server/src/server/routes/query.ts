import { z } from 'zod';

const DIGITS = /^\d{1,15}$/;

/** A whole number in a query or a header, written in digits. */
export const wholeNumber = (min: number, max: number = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(DIGITS, 'must be a whole number').transform(Number).pipe(z.int().min(min).max(max));

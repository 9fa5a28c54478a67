import type { SyntaxNode } from 'unbash';

const COMPARES_NUMBERS = /^-(?:eq|ne|lt|le|gt|ge|v|R)$/;

/**
 * Whether evaluating this part of a script, without what stands in it, runs nothing. Arithmetic does not pass: a variable in it may hold
 * `a[$(command)]`, which bash would run.
 */
export function isHarmlessExpansion(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'ParameterExpansion':
      return node.prefix !== '!' && node.index === undefined;
    case 'Default':
      return !node.operator.includes('=');
    case 'Slice':
    case 'Transform':
    case 'Unknown':
    case 'Names':
    case 'ExtendedGlob':
      return false;
    case 'ArithmeticWord':
      return /^\d*$/.test(node.value);
    case 'TestUnary':
    case 'TestBinary':
      return !COMPARES_NUMBERS.test(node.operator);
    default:
      return true;
  }
}

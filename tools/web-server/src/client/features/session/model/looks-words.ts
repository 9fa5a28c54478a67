import { count } from '../../../lib/format.ts';
import type { ToolItem } from './transcript-items.ts';

/** "Read 3 files, searched 2 times". */
export function looksWords(tools: readonly ToolItem[]): string {
  const of = (...names: string[]) => tools.filter((tool) => names.includes(tool.use.toolName)).length;
  const read = of('Read', 'NotebookRead');
  const listed = of('LS');
  const searched = tools.length - read - listed;
  const words = [
    read > 0 ? `read ${count(read, 'file')}` : '',
    listed > 0 ? `listed ${count(listed, 'folder')}` : '',
    searched > 0 ? `searched ${count(searched, 'time')}` : '',
  ];
  const sentence = words.filter((word) => word !== '').join(', ');
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

import type { RequestKind } from '@callboard/contract';
import {
  IconFilePlus,
  IconForms,
  IconHelpCircle,
  IconListCheck,
  IconPencil,
  IconTerminal2,
  IconTool,
  IconWorld,
} from '@tabler/icons-react';
import { type RequestSign, requestSign } from '../lib/request-sign.ts';

const ICONS: Readonly<Record<RequestSign, typeof IconTool>> = {
  command: IconTerminal2,
  edit: IconPencil,
  file: IconFilePlus,
  question: IconHelpCircle,
  plan: IconListCheck,
  form: IconForms,
  network: IconWorld,
  tool: IconTool,
};

interface KindIconProps {
  kind: RequestKind;
  toolName?: string | undefined;
  size?: number;
}

/** What a request is about, as an icon. Decorative: the words beside it say the same. */
export function KindIcon({ kind, toolName = '', size = 16 }: KindIconProps) {
  const sign = requestSign(kind, toolName);
  const Icon = ICONS[sign];
  return <Icon size={size} stroke={1.75} aria-hidden data-sign={sign} style={{ flex: 'none' }} />;
}

import { useEffect } from 'react';
import { useNavigate } from 'react-router';
import { onOpenedByWorker, registerWorker } from '../lib/service-worker.ts';
import { whenIdle } from '../lib/when-idle.ts';

/** Registers the service worker once the page is there, and follows where a clicked notification leads. */
export function useWorker(): void {
  const navigate = useNavigate();
  // Without it the page works as before: whoever wants notifications pushed is told then why they cannot be.
  useEffect(() => whenIdle(() => void registerWorker().catch(() => undefined)), []);
  useEffect(() => onOpenedByWorker((path) => void navigate(path)), [navigate]);
}

import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failure, Waiting } from './empty.tsx';

/** A component whose code is loaded when it is first shown. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [attempt, setAttempt] = useState(0);
    const [problem, setProblem] = useState<string | null>(null);
    const [, redraw] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (component) => {
          loaded = component;
          redraw(true);
        },
        (error: Error) => setProblem(error.message),
      );
    }, [attempt]);
    const Loaded = loaded;
    if (Loaded) return <Loaded {...props} />;
    if (problem === null) return <Waiting />;
    const retry = (): void => {
      setProblem(null);
      setAttempt(attempt + 1);
    };
    return <Failure error={problem} retry={retry} />;
  };
}

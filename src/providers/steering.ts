import type { Arrived } from './provider.ts';

/** What was inserted into a running turn, until the program shows that the model gets it. */
export function createSteering() {
  const open: Arrived[] = [];
  const drop = (arrived: Arrived | undefined): void => {
    if (arrived) open.splice(open.indexOf(arrived), 1);
  };
  return {
    sent: (arrived: Arrived): void => void open.push(arrived),
    /** The program shows a message of its user. */
    shown(text: string): void {
      const arrived = open.find((one) => one.text === text);
      arrived?.taken();
      drop(arrived);
    },
    /** The program did not take it. */
    refused: drop,
    isWaiting: (): boolean => open.length > 0,
  };
}

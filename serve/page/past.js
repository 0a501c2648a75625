/** A conversation as the server keeps it, put back into turns. No DOM, no network. */

/**
 * @param messages of `GET /v1/conversations/{id}`
 * @returns turns `{ question, exchanges: [{ question, answer }], reply }`; what was never there is null
 */
export function pastTurns(messages) {
  const turns = [];
  const begin = (question) => {
    turns.push({ question, exchanges: [], reply: null });
    return turns.at(-1);
  };
  for (const message of messages) {
    const turn = turns.at(-1);
    const exchange = turn?.exchanges.at(-1);
    if (message.role === "user") {
      if (message.interaction && exchange) exchange.answer = message.text;
      else begin(message.text);
    } else if (message.interaction) {
      (turn ?? begin(null)).exchanges.push({ question: message.text, answer: null });
    } else {
      const target = turn && !turn.reply ? turn : begin(null);
      target.reply = message;
    }
  }
  return turns;
}

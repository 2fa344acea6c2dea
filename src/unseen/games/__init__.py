"""The games that come with the library, one file each. `REGISTRY` says where each name lives; nothing is imported before it is
used."""

REGISTRY = {
    "biased_rps": "matrix_games:BiasedRPS",
    "coordination": "coordination:Coordination",
    "kuhn_poker": "kuhn_poker:KuhnPoker",
    "leduc_poker": "leduc_poker:LeducPoker",
    "liars_dice": "liars_dice:LiarsDice",
    "matching_pennies": "matrix_games:MatchingPennies",
    "one_card_poker": "kuhn_poker:OneCardPoker",
    "xi": "xx_xi:XI",
    "xx": "xx_xi:XX",
}

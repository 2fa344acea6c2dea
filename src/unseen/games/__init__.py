"""The games that come with the library, one file each. `REGISTRY` says where each name lives; nothing is imported before it is
used."""

REGISTRY = {
    "biased_rps": "matrix_games:BiasedRPS",
    "blotto": "blotto:Blotto",
    "coordination": "coordination:Coordination",
    "exact_liars_dice": "exact_liars_dice:ExactLiarsDice",
    "goofspiel": "goofspiel:Goofspiel",
    "ii_goofspiel": "goofspiel:IIGoofspiel",
    "kuhn_poker": "kuhn_poker:KuhnPoker",
    "latent_ttt": "latent_ttt:LatentTTT",
    "leduc_poker": "leduc_poker:LeducPoker",
    "liars_dice": "liars_dice:LiarsDice",
    "matching_pennies": "matrix_games:MatchingPennies",
    "one_card_poker": "kuhn_poker:OneCardPoker",
    "oshi_zumo": "oshi_zumo:OshiZumo",
    "pd_goofspiel": "goofspiel:PDGoofspiel",
    "phantom_ttt": "phantom_ttt:PhantomTTT",
    "princess_and_monster": "princess_and_monster:PrincessAndMonster",
    "schnapsen": "schnapsen:Schnapsen",
    "wl_goofspiel": "goofspiel:WLGoofspiel",
    "xi": "xx_xi:XI",
    "xx": "xx_xi:XX",
}

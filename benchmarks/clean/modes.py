"""What is compared: who takes part in which mode, and what each mode is."""

DEFAULTS, EARLY, EQUAL = "defaults", "early stopping", "equal time"
#: Ours, whose seconds the others get in the mode of equal time; and the peer that all seconds are divided by.
OURS_EQUAL, YARDSTICK = "MPGradientBoosting", "LightGBM"
OURS = (OURS_EQUAL, "MPBoost")
_WATCHED = ("LightGBM", "XGBoost", "CatBoost")
#: Who is fitted in each mode. Ours stop by themselves, hence are fitted once for all three.
MODES = {
    DEFAULTS: (*OURS, *_WATCHED, "HistGradientBoosting", "RandomForest"),
    EARLY: (*_WATCHED, "HistGradientBoosting"),
    EQUAL: _WATCHED,
}
#: Who is compared in each mode: each contestant with the mode of its fit.
ENTRANTS = {
    mode: dict.fromkeys(ours, DEFAULTS) | dict.fromkeys(MODES[mode], mode)
    for mode, ours in {DEFAULTS: (), EARLY: OURS, EQUAL: (OURS_EQUAL,)}.items()
}

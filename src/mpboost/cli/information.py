"""The command info: show what is in a model file. It is quick, since it loads neither the trees nor scikit-learn."""

from mpboost.cli.options import Json, ModelPath


def info(model: ModelPath, as_json: Json = False) -> None:
    """Show what is in a model file."""
    from mpboost.cli.model_summary import check_exists, describe_model, show_features, show_model
    from mpboost.cli.output import Output
    from mpboost.model_files.facts import read_facts

    with Output(as_json=as_json) as out:
        check_exists(model)
        facts = read_facts(model)
        out.title(model.name, facts.estimator)
        show_model(facts, out)
        show_features(facts, out)
        out.record(model=str(model), target=facts.target_name, **describe_model(facts))

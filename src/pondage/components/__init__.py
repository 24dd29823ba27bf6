"""The starter library: components that real jobs need. Their modules import no Spark before one of them runs."""

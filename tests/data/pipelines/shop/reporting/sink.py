from pyspark import pipelines as dp

dp.create_sink(name="warehouse_copy", format="kafka", options={"topic": "sales"})

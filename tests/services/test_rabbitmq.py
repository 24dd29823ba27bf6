"""The broker of the tests is a real one: what is durable outlives it."""

import asyncio

import aio_pika

from tests.patience import PATIENCE_S
from tests.services.rabbitmq import RabbitServer


def test_a_durable_message_outlives_the_kill_of_the_broker(rabbitmq: RabbitServer) -> None:
    asyncio.run(_publish(rabbitmq.url))
    rabbitmq.stop()
    rabbitmq.start()
    assert asyncio.run(_take(rabbitmq.url)) == b"kept"


async def _publish(url: str) -> None:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        await channel.declare_queue("outlives", durable=True)
        message = aio_pika.Message(b"kept", delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await channel.default_exchange.publish(message, routing_key="outlives")


async def _take(url: str) -> bytes:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("outlives", durable=True)
        message = await queue.get(timeout=PATIENCE_S)
        assert message is not None
        await message.ack()
        return message.body
